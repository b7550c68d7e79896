"""A cluster of worker processes gives the bits of one machine, whoever dies."""

import numpy as np
import pytest

import bochner
from helpers.battery import BATTERY, fitted, numbers
from helpers.cluster import cluster


@pytest.fixture(scope="module")
def client():
    with cluster(2) as client:
        yield client


def same(some, others):
    return all(np.array_equal(a, b) for a, b in zip(some, others, strict=True))


@pytest.mark.parametrize("name", BATTERY)
def test_a_cluster_gives_the_bits_of_threads(name, client):
    with bochner.config_context(block_rows=64):
        expected = numbers(fitted(name))
        with bochner.config_context(engine="dask"):
            assert same(numbers(fitted(name)), expected)
