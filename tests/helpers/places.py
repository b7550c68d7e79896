"""Where things are, seen from any test."""

from pathlib import Path

HELPERS = Path(__file__).parent
TESTS = HELPERS.parent
ROOT = TESTS.parent
DOCS = ROOT / "docs"
