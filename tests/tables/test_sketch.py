"""Quantiles of numbers that come in parts: exact for few different values, within the stated error for all."""

import numpy as np
import pytest

from bochner.tables.sketch import SIZE, QuantileSketch

SHARES = np.linspace(0.0, 1.0, 41)
rng = np.random.default_rng(0)


def sketch_of(parts):
    sketch = QuantileSketch()
    for part in parts:
        sketch.add(part)
    return sketch


def rank_errors(sketch, rows):
    """How far the ranks of the sketch's quantiles are from what they should be, as shares of the rows."""
    ordered, found = np.sort(rows), sketch.quantiles(SHARES)
    low, high = (np.searchsorted(ordered, found, side) / len(rows) for side in ("left", "right"))
    return np.maximum(np.maximum(low - SHARES, SHARES - high), 0.0)


@pytest.mark.parametrize("rows", [rng.normal(size=SIZE), rng.integers(0, 50, 30_000).astype(float), np.array([2.5])])
@pytest.mark.parametrize("parts", [1, 7])
def test_few_values_are_exact(rows, parts):
    sketch = sketch_of(np.array_split(rows, parts))
    assert sketch.is_exact
    assert sketch.rank_error == 0
    np.testing.assert_allclose(sketch.quantiles(SHARES), np.quantile(rows, SHARES), rtol=1e-13)


LAWS = {
    "normal": rng.normal(size=200_000),
    "sorted": np.arange(200_000.0),
    "zigzag": np.where(np.arange(200_000) % 2, 1.0, -1.0) * np.arange(200_000),
    "mostly zero": np.where(rng.random(200_000) < 0.9, 0.0, rng.normal(size=200_000)),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("parts", [1, 40])
def test_ranks_are_within_the_stated_error(law, parts):
    rows = LAWS[law]
    sketch = sketch_of(np.array_split(rows, parts))
    levels = len(sketch.levels)
    assert sketch.count == len(rows)
    assert not sketch.is_exact
    assert 0 < sketch.rank_error <= (levels - 1) / SIZE  # the bound of the first lines of sketch.py
    assert sum(map(len, sketch.levels)) <= levels * SIZE
    assert rank_errors(sketch, rows).max() <= sketch.rank_error + 1 / len(rows)


@pytest.mark.parametrize("law", LAWS)
def test_merged_ranks_are_within_the_stated_error(law):
    rows = LAWS[law]
    sketches = [sketch_of([part]) for part in np.array_split(rows, 16)]
    while len(sketches) > 1:  # as a tree
        for left, right in zip(sketches[::2], sketches[1::2], strict=True):
            left.merge(right)
        sketches = sketches[::2]
    assert sketches[0].count == len(rows)
    assert sketches[0].rank_error <= (len(sketches[0].levels) - 1) / SIZE
    assert rank_errors(sketches[0], rows).max() <= sketches[0].rank_error + 1 / len(rows)


def test_exact_sketches_merge_exactly_and_into_inexact_ones():
    rows = LAWS["mostly zero"]
    one, two = sketch_of([rows[:2000]]), sketch_of([rows[2000:6000]])
    one.merge(two)
    assert one.is_exact
    np.testing.assert_allclose(one.quantiles(SHARES), np.quantile(rows[:6000], SHARES))
    rest = sketch_of([rows[6000:]])
    count = rest.count
    rest.merge(one)
    assert rest.count == count + 6000 == len(rows)
    assert rank_errors(rest, rows).max() <= rest.rank_error + 1 / len(rows)


def test_order_of_rows_within_a_part_does_not_count():
    rows = LAWS["normal"]
    one, two = sketch_of([rows]), sketch_of([rng.permutation(rows)])
    assert all(np.array_equal(a, b) for a, b in zip(one.levels, two.levels, strict=True))


def test_state_there_and_back_and_what_is_refused():
    for rows in (LAWS["normal"], LAWS["normal"][:100]):
        sketch = sketch_of([rows])
        again = QuantileSketch.from_state(sketch.to_state())
        np.testing.assert_array_equal(again.quantiles(SHARES), sketch.quantiles(SHARES))
        again.add(rows[:50])
        sketch.add(rows[:50])
        np.testing.assert_array_equal(again.quantiles(SHARES), sketch.quantiles(SHARES))
    state = sketch_of([np.arange(5.0)]).to_state()
    for name, value in [
        ("values", np.arange(5.0)[::-1].copy()), ("values", np.array([0.0, 1, 2, 3, np.nan])),
        ("values", np.arange(4.0)),
        ("counts", np.zeros(5, dtype=np.int64)), ("levels", (np.array([np.inf]),)), ("levels", (np.zeros(3),)),
        ("error", -1), ("moves", 1.5),
    ]:  # fmt: skip
        with pytest.raises(ValueError):
            QuantileSketch.from_state({**state, name: value})
