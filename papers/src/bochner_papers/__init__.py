"""Every table and figure of the papers, one module each, run by `bochner reproduce`; not part of the public interface.

They use the library's public names only. Each module runs one experiment and returns Findings.
"""

from . import beyond, kitchen_sinks, learned_frequencies, maxout, mckernel, random_bases
from .findings import Cause, Chart, Claim, Comparison, Experiment, Findings, Job

PAPERS = (maxout, kitchen_sinks, random_bases, mckernel, learned_frequencies, beyond)
EXPERIMENTS = {experiment.name: experiment for paper in PAPERS for experiment in paper.EXPERIMENTS}

__all__ = ["EXPERIMENTS", "Cause", "Chart", "Claim", "Comparison", "Experiment", "Findings", "Job"]
