"""What numbers were measured on: processor, versions of packages, and the commit of this source."""

from __future__ import annotations

import platform
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

from .ops import describe, threads

PACKAGES = (
    "numpy", "scipy", "scikit-learn", "fht-cpu", "scikit-learn-extra", "torch", "lightgbm", "xgboost-cpu", "xgboost",
    "catboost", "xrfm",
)  # fmt: skip


def machine() -> dict[str, Any]:
    return {
        "processor": processor(),
        "cores": threads.available(),
        "gpu": gpu(),
        "instruction_set": describe()["instruction_set"],
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
        "commit": commit(),
        "date": time.strftime("%Y-%m-%d"),
    }


def gpu() -> str | None:
    """The first GPU, if torch is imported and sees one."""
    torch = sys.modules.get("torch")
    return str(torch.cuda.get_device_name(0)) if torch is not None and torch.cuda.is_available() else None


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def commit() -> str | None:
    """The commit of the source, if this is a checkout."""
    here = Path(__file__).parent
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty"], cwd=here, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip() or None
