"""What values of columns say of targets: jumps found, noise silent, no row by its own target, the same from a file."""

from __future__ import annotations

import numpy as np
import pytest

from bochner.models.auto.effect_encoder import END, MOST_EFFECTS, EffectEncoder
from bochner.tables import TableEncoder
from bochner.tables.column_effects import MOST_BINS, Bins, edges_between, shrunk_effects

pandas = pytest.importorskip("pandas")


def fitted(frame: object, Y: np.ndarray, seen: np.ndarray | None = None) -> tuple[EffectEncoder, np.ndarray]:
    plain = TableEncoder()
    X = plain.fit_transform(frame)
    encoder = EffectEncoder.of(plain)
    seen = np.ones(len(Y), dtype=bool) if seen is None else seen
    return encoder, encoder.fit_transform(encoder.codes(encoder.read(frame)), X, Y, seen)


def sums_of(codes: np.ndarray, y: np.ndarray, bins: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.bincount(codes, minlength=bins), np.bincount(codes, y, minlength=bins)[:, None], np.array([y @ y])


def test_a_jump_in_a_number_is_found_where_it_is() -> None:
    rng = np.random.default_rng(0)
    x, new = rng.uniform(size=(2, 4000))
    encoder, _ = fitted(x[:, None], ((x > 0.37) + 0.5 * rng.normal(size=4000))[:, None])
    said = encoder.transform(new[:, None])[:, 1]
    jump = (new > 0.37) - 0.63
    assert np.corrcoef(said, jump)[0, 1] > 0.98
    assert abs(np.corrcoef(new, jump)[0, 1]) < 0.87  # what the number alone says


def test_bins_of_noise_say_nothing() -> None:
    """Without shrinking, 256 bins of four rows each would explain a quarter of the noise."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 1024))
    bins = Bins(edges_between(np.sort(x), np.ones(1024, dtype=int)))
    effects = shrunk_effects(*sums_of(bins(x), y, bins.count), bins.levels())
    assert np.var(effects[bins(x), 0]) < 0.02


def test_two_levels_by_hand() -> None:
    """Within and between by the analysis of variance, written out; one level, so the parent is the mean of all."""
    y, codes = np.array([1.0, 3.0, 5.0, 7.0, 6.0, 8.0]), np.array([1, 1, 2, 2, 3, 3])
    found = shrunk_effects(*sums_of(codes, y, 4), [np.arange(4)])[:, 0]
    means, within = np.array([2.0, 6.0, 7.0]) - 5.0, 2.0  # three bins, each of variance 2 with one degree of freedom
    between = (2 * means @ means - 2 * within) / (6 - 3 * 4 / 6)
    np.testing.assert_allclose(found[1:], 2 / (2 + max(within / between, 1.0)) * means)
    assert found[0] == 0.0


def test_a_row_never_sees_its_own_target() -> None:
    """Nor does any row see those that are not seen."""
    frame, Y = mixed(200, 0)
    seen = np.arange(200) < 150
    first, X = fitted(frame, Y, seen)
    plain = first.encoder.transform(frame)
    codes = first.codes(first.read(frame))
    for row in (3, 180):
        other = Y.copy()
        other[row] += 5.0
        second = EffectEncoder(first.encoder, first.bins)
        X_then = second.fit_transform(codes, plain, other, seen, kept=first.spreads > 0)
        table = first.tables[0][codes[0][row]]
        if seen[row]:  # spreads, which effects are divided by, know it as they know all rows
            ratio = first.spreads[first.spreads > 0] / second.spreads[second.spreads > 0]
            z, z_then = (M[row, -len(ratio) :] for M in (X, X_then))
            z, z_then = (v / np.sqrt(1.0 - (v / END) ** 2) for v in (z, z_then))
            np.testing.assert_allclose(z_then, z * ratio, rtol=1e-9)
        else:
            assert (X_then == X).all()
            assert (second.tables[0][codes[0][row]] == table).all()


def test_effects_of_wide_tables_are_few() -> None:
    """And numbers of two values, which say all there is to say by themselves, have none."""
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(300, 150)), rng.normal(size=(300, 4))
    X[:, 0] = X[:, 0] > 0
    Y[:, 0] += 3.0 * (X[:, 0] + (np.abs(X[:, 7]) < 0.5))
    encoder, Z = fitted(X, Y)
    names = encoder.get_feature_names_out().tolist()
    assert Z.shape[1] == len(names) <= 150 + MOST_EFFECTS
    assert "x7 effect on 0" in names and "x0 effect on 0" not in names


@pytest.mark.parametrize("values", [1, 2, 40, 5000])
def test_bins_are_few_in_order_and_hold_all_values(values: int) -> None:
    column = np.r_[np.arange(values, dtype=float), np.zeros(1000)]
    known, counts = np.unique(column, return_counts=True)
    bins = Bins(edges_between(known, counts))
    codes = bins(column)
    assert bins.count <= MOST_BINS + 1 and codes.min() == 1
    assert (np.diff(codes[:values]) >= 0).all()
    assert len(np.unique(codes)) == bins.count - 1 and (values > MOST_BINS or bins.count - 1 == values)
    for level in bins.levels():
        assert level[0] == 0 and (np.diff(level) >= 0).all()  # what is missing stands alone, neighbours together
    assert (bins(np.array([np.nan, -np.inf, np.inf])) == [0, 1, bins.count - 1]).all()


def mixed(n: int, seed: int) -> tuple[object, np.ndarray]:
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 30, n)
    frame = pandas.DataFrame({"town": [f"t{k}" for k in town], "x": rng.normal(size=n), "day": rng.integers(0, 7, n)})
    frame.loc[rng.random(n) < 0.1, "x"] = np.nan
    return frame, (np.sin(7.0 * town) + (frame["day"].to_numpy() == 3) + 0.3 * rng.normal(size=n))[:, None]


def test_a_frame_has_its_numbers_and_the_effects_of_all_columns() -> None:
    frame, Y = mixed(800, 0)
    encoder, X = fitted(frame, Y)
    names = encoder.get_feature_names_out().tolist()
    assert X.shape == (800, len(names))
    assert {"x", "x is missing", "day", "town effect", "day effect"} <= set(names)
    assert not any(name.startswith("town=") for name in names)
    assert encoder.column_of_[names.index("town effect")] == 0 and encoder.column_of_[names.index("day effect")] == 2
    new, truth = mixed(500, 1)
    assert np.corrcoef(encoder.transform(new)[:, names.index("town effect")], truth[:, 0])[0, 1] > 0.7
    unknown = encoder.transform(new.assign(town="elsewhere"))[:, names.index("town effect")]
    assert (unknown == 0.0).all()


def test_identifiers_have_no_effect_and_neighbouring_numbers_one_edge() -> None:
    rng = np.random.default_rng(4)
    frame, Y = pandas.DataFrame({"id": [f"r{k}" for k in range(200)]}), rng.normal(size=(200, 1))
    frame["x"] = np.round(rng.normal(size=200))
    encoder, _ = fitted(frame, Y)
    assert not any("id" in name for name in encoder.get_feature_names_out())
    close = 1.0 + np.finfo(float).eps * np.arange(20)
    edges = edges_between(close, np.ones(20, dtype=int))
    assert (np.diff(edges) > 0).all() and len(edges) <= 19


def test_files_hold_effects() -> None:
    frame, Y = mixed(300, 0)
    encoder, _ = fitted(frame, np.hstack([Y, -Y]))
    same = EffectEncoder.from_state(encoder.to_state(), encoder.encoder, 2)
    assert (same.transform(frame) == encoder.transform(frame)).all()
    state = encoder.to_state()
    for name, wrong in (("edges", state["edges"][:-1]), ("spreads", -state["spreads"]), ("tables", state["edges"])):
        with pytest.raises(ValueError):
            EffectEncoder.from_state({**state, name: wrong}, encoder.encoder, 2)
    edges = tuple(edges[::-1].copy() for edges in state["edges"])
    with pytest.raises(ValueError, match="other bins"):
        EffectEncoder.from_state({**state, "edges": edges}, encoder.encoder, 2)
