"""What the papers fit: features of the columns as they are, and nothing beside them.

The library's models scale columns and may add them to the features where that predicts better; settings of a paper's
experiment begin with `**AS_IN_PAPERS`, so that a number is that of the features it names.
"""

from typing import Any

AS_IN_PAPERS: dict[str, Any] = {"scale": None, "linear": False}
