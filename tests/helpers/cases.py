"""Every kind of basis the tests walk, by name. A registered basis must have one."""

import numpy as np

from bochner import (
    Fastfood,
    GatedLinear,
    PatchFeatures,
    RandomBins,
    RandomCells,
    RandomFourier,
    RandomMaxout,
    RandomRidge,
    RandomStumps,
    kernels,
)


def softsign(t):
    return t / (1.0 + abs(t))  # of arrays and tensors alike


CASES = {
    "fourier": RandomFourier(bandwidth=1.3),
    "fourier phased": RandomFourier(bandwidth=1.3, pairs=False),
    "fourier laplacian": RandomFourier(kernel="laplacian", bandwidth=2.0),
    "fourier matern 0.5": RandomFourier(kernel="matern", nu=0.5, bandwidth=1.5),
    "fourier matern 2.5": RandomFourier(kernel="matern", nu=2.5, bandwidth=1.5),
    "fourier cauchy": RandomFourier(kernel="cauchy", bandwidth=2.0),
    "fourier stable": RandomFourier(kernel=kernels.Stable(1.5, 1.2), bandwidth=2.0),
    "fourier stable laplacian": RandomFourier(kernel=kernels.Stable(1, 0.9), bandwidth=2.0),
    "fourier ball": RandomFourier(kernel=kernels.BallMatern(bandwidth=1.5, degree=3)),
    "fourier orthogonal": RandomFourier(bandwidth=1.3, sampling="orthogonal"),
    "fourier orthogonal matern": RandomFourier(kernel="matern", bandwidth=1.3, sampling="orthogonal"),
    "fourier qmc": RandomFourier(bandwidth=1.3, sampling="qmc"),
    "fourier qmc laplacian": RandomFourier(kernel="laplacian", bandwidth=2.0, sampling="qmc"),
    "fourier qmc stable": RandomFourier(kernel=kernels.Stable(1.5, 1.0), bandwidth=2.0, sampling="qmc"),
    "fastfood": Fastfood(bandwidth=1.3),
    "fastfood ball": Fastfood(kernel="ball_matern", degree=5, bandwidth=2.0),
    "fastfood matern": Fastfood(kernel=kernels.Matern(nu=1.5), bandwidth=1.5),
    "maxout": RandomMaxout(),
    "maxout uncentred": RandomMaxout(center=False),
    "maxout of three": RandomMaxout(pool_size=3),
    "maxout of one": RandomMaxout(pool_size=1),
    "maxout shared": RandomMaxout(shared_projections=20),
    "maxout structured": RandomMaxout(structured=True),
    "gated": GatedLinear(),
    "gated sparse": GatedLinear(pool_size=2, sparse_output=True),
    "stumps": RandomStumps(radius=2.0),
    "stumps normal": RandomStumps(thresholds="normal"),
    "bins": RandomBins(bandwidth=3.0, n_grids=7),
    "cells": RandomCells(50, depth=3),
    "cells shallow": RandomCells(50, depth=2, column_weights="spread"),
    "cells oblique": RandomCells(50, depth=3, oblique=True),
    "ridge sigmoid": RandomRidge(),
    "ridge tanh": RandomRidge(activation="tanh", scale=0.7, bias_scale=0.5),
    "ridge relu": RandomRidge(activation="relu"),
    "ridge softsign": RandomRidge(activation=softsign, bias_scale=0.3),
}

# Rows of the batteries have five columns: a picture of one pixel with five channels, and one of five pixels in a row.
PICTURES = {
    "patches": PatchFeatures(image_shape=(1, 1, 5), patch_size=1, grid=1, n_filters=20),
    "patches of one pixel": PatchFeatures(image_shape=(1, 5), patch_size=1, grid=1, n_filters=6, contrast=1.0),
    "maxout patches": PatchFeatures(
        RandomMaxout(), image_shape=(1, 1, 5), patch_size=1, grid=1, n_filters=40, filters="random"
    ),
    "gated patches": PatchFeatures(GatedLinear(), image_shape=(1, 1, 5), patch_size=1, grid=1, n_filters=10),
}

SPARSE = ("bins", "gated sparse", "cells", "cells oblique")  # which make CSR matrices, and no tensors
# Orthogonal directions come from a float factorisation, which no integer map can be built on.
INTEGER_CASES = {name: basis for name, basis in CASES.items() if "orthogonal" not in name}


def dense(features):
    """Features as a float64 array."""
    return (features.toarray() if hasattr(features, "toarray") else np.asarray(features)).astype(np.float64)
