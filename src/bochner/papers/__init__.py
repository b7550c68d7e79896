"""Every table and figure of the papers, one module each, run by `bochner reproduce`; not part of the public interface.

They use the library's public names only. Each module runs one experiment and returns Findings.
"""

from . import kitchen_sinks, maxout, mckernel
from .findings import Chart, Claim, Comparison, Experiment, Findings, Job

EXPERIMENTS = {
    experiment.name: experiment for paper in (maxout, kitchen_sinks, mckernel) for experiment in paper.EXPERIMENTS
}

__all__ = ["EXPERIMENTS", "Chart", "Claim", "Comparison", "Experiment", "Findings", "Job"]
