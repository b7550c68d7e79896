"""Records of experiments as one HTML file that needs nothing else: tables, verdicts and charts, without a network.

A record is a plain dictionary, as it stands in its JSON file.
"""

from .html import page, write_report
from .records import read_records

__all__ = ["page", "read_records", "write_report"]
