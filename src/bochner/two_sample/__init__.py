"""Two samples: one law or two?"""

from .discrepancy import mmd, mmd_test
from .result import TwoSampleResult

__all__ = ["TwoSampleResult", "mmd", "mmd_test"]
