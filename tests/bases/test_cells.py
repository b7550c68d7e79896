"""What is particular to random cells: trees, thresholds, the weights of columns, and what is refused."""

import numpy as np
import pytest
import scipy.sparse

from bochner import RandomCells
from bochner.kernels import AxisCells, ObliqueCells
from bochner.maps import Metric
from helpers import contracts
from helpers.cases import dense


@pytest.mark.parametrize("oblique", [False, True])
def test_exactly_one_cell_of_each_tree_is_filled(oblique):
    X = contracts.rows(50)
    basis = RandomCells(96, depth=4, oblique=oblique, random_state=0).fit(X)
    Z = basis.transform(X)
    assert Z.has_canonical_format
    trees = Z.toarray().reshape(50, 6, 16)
    assert ((trees != 0).sum(axis=2) == 1).all()
    np.testing.assert_allclose(trees.max(axis=2), 1.0 / np.sqrt(6))
    integer = basis.set_params(precision="int8").fit(X)
    assert set(integer.transform(X).data.tolist()) == {1}
    assert integer.scale_ == pytest.approx(1.0 / np.sqrt(6))


def test_the_inner_product_is_the_share_of_trees_with_one_cell():
    X = contracts.rows(20)
    basis = RandomCells(80, depth=3, random_state=1).fit(X)
    columns, thresholds, flips = basis.map_.weights()
    above = X[:, columns] > thresholds  # (n, trees, depth)
    assert np.array_equal(
        basis.map_.cells(X, (columns, thresholds, flips)), (above << np.arange(3)).sum(axis=2) ^ flips
    )
    same = (above[:, None] == above[None]).all(axis=3).mean(axis=2)
    Z = dense(basis.transform(X))
    np.testing.assert_allclose(Z @ Z.T, same, atol=1e-12)


def test_the_first_columns_of_a_last_tree_are_those_of_a_whole_one():
    X = contracts.rows(200)
    whole, cut = (RandomCells(m, depth=4, random_state=0).fit(X).map_ for m in (48, 39))
    np.testing.assert_allclose(dense(cut(X)), dense(whole(X))[:, :39] * np.sqrt(48 / 39), rtol=1e-12)


def test_thresholds_part_the_rows_and_no_row_lies_on_one():
    X = np.column_stack([np.arange(40) % 2, np.arange(40.0), np.ones(40)])
    table = RandomCells(8, random_state=0).fit(X).thresholds_
    assert set(table[0]) == {0.5}
    assert np.array_equal(table[1][:3] % 1.0, [0.5, 0.5, 0.5])
    assert table[1].max() < 39
    assert set(table[2]) == {1.0}
    sparse = RandomCells(8, random_state=0).fit(scipy.sparse.csr_matrix(X)).thresholds_
    assert np.array_equal(sparse, table)
    many = RandomCells(8, random_state=0).fit(contracts.rows(600, 3))
    assert many.thresholds_.shape == (3, 256)
    assert RandomCells(8, random_state=0).fit(contracts.rows(600, 300)).thresholds_.size < 2**14


def test_columns_are_drawn_in_proportion_to_their_weights():
    X = contracts.rows(30, 3)
    weights = np.array([1.0, 0.0, 3.0])
    columns = RandomCells(16000, depth=4, column_weights=weights, random_state=0).fit(X).map_.weights()[0]
    counts = np.bincount(columns.ravel(), minlength=3)
    assert counts[1] == 0
    assert abs(counts[2] - 3000) < 4.5 * np.sqrt(4000 * 0.25 * 0.75)
    spread = RandomCells(16, column_weights="spread").fit(X * [1.0, 1e-9, 5.0]).column_weights_
    assert spread[2] > 3 * spread[0] > 20 * spread[1] > 0


def test_oblique_cells_turn_with_the_rows():
    """The kernel knows angles alone, so it does not change if rows and anchors are rotated."""
    X = contracts.rows(12, 4)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    basis = RandomCells(16, oblique=True, depth=2, random_state=0).fit(X)
    turned = ObliqueCells(basis.anchors_ @ turn, depth=2)(X @ turn)
    np.testing.assert_allclose(basis.kernel(X), turned, atol=1e-12)
    after = Metric(basis.map_, np.eye(4))
    assert np.array_equal(dense(after(X)), dense(basis.transform(X)))


def test_kernels_by_hand():
    axis = AxisCells(np.array([[0.5], [0.5]]), np.array([0.25, 0.75]), depth=2)
    np.testing.assert_allclose(axis([[0, 0]], [[0, 1], [1, 0], [1, 1]]), [[0.25**2, 0.75**2, 0.0]])
    oblique = ObliqueCells(np.zeros((1, 2)))
    np.testing.assert_allclose(oblique([[0.0, 0.0], [1.0, 0.0]], [[0.0, 0.0], [1.0, 1.0]]), [[1.0, 0.5], [0.5, 0.75]])


@pytest.mark.parametrize(
    ("basis", "message"),
    [
        (RandomCells(depth=0), "depth must be an integer of at least 1"),
        (RandomCells(depth=17), "depth must be at most 16"),
        (RandomCells(oblique="yes"), "oblique must be True or False"),
        (RandomCells(oblique=True, column_weights="spread"), "which oblique cells do not make"),
        (RandomCells(column_weights="importance"), "choose from 'spread'"),
        (RandomCells(column_weights=[1.0]), "column_weights must be 5 numbers"),
        (RandomCells(column_weights=[1, 1, -1, 1, 1]), "must not be negative, nor all zero"),
        (RandomCells(column_weights=np.zeros(5)), "must not be negative, nor all zero"),
        (RandomCells(column_weights=[1, 1, np.nan, 1, 1]), "column_weights contains NaN"),
    ],
)
def test_what_is_refused(basis, message):
    with pytest.raises(ValueError, match=message):
        basis.fit(contracts.rows())
