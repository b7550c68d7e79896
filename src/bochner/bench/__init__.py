"""Speed, honestly: ours, each peer that is installed, and a measured limit, in one run; no number without a check."""

from ..machine import machine
from .cluster import bench_cluster
from .features import bench_features
from .fit import bench_fit
from .fwht import bench_fwht, time_shape
from .gpu import bench_gpu
from .gpu_shared import bench_gpu_shared
from .gram import bench_gram
from .limits import bench_limits
from .metric import bench_metric
from .pictures import bench_pictures
from .softmax import bench_softmax
from .timing import Entry

BENCHES = {
    "cluster": bench_cluster,
    "limits": bench_limits,
    "fwht": bench_fwht,
    "features": bench_features,
    "gram": bench_gram,
    "fit": bench_fit,
    "softmax": bench_softmax,
    "gpu": bench_gpu,
    "gpu-shared": bench_gpu_shared,
    "pictures": bench_pictures,
    "metric": bench_metric,
}
APART = ("cluster", "pictures", "metric", "gpu", "gpu-shared")  # minutes each, or another machine
ALL = tuple(name for name in BENCHES if name not in APART)  # what "all" is

__all__ = ["ALL", "BENCHES", "Entry", "machine", "time_shape"]
