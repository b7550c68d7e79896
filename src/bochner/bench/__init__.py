"""Speed, honestly: ours, each peer that is installed, and a measured limit, in one run; no number without a check."""

from ..machine import machine
from .features import bench_features
from .fit import bench_fit
from .fwht import bench_fwht, time_shape
from .gpu import bench_gpu
from .gram import bench_gram
from .limits import bench_limits
from .softmax import bench_softmax
from .timing import Entry

BENCHES = {
    "limits": bench_limits,
    "fwht": bench_fwht,
    "features": bench_features,
    "gram": bench_gram,
    "fit": bench_fit,
    "softmax": bench_softmax,
    "gpu": bench_gpu,
}
PROCESSOR = tuple(name for name in BENCHES if name != "gpu")  # what "all" is

__all__ = ["BENCHES", "PROCESSOR", "Entry", "machine", "time_shape"]
