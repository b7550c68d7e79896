"""The device that tests of tensors put them on: the CPU, or what BOCHNER_TEST_DEVICE says (`make test-cuda`)."""

import os
from importlib.util import find_spec

DEVICE = os.environ.get("BOCHNER_TEST_DEVICE", "cpu")
# Kernels run on the CPU too, interpreted, where nothing else is there to run them.
KERNELS = DEVICE.startswith("cuda") or (os.environ.get("TRITON_INTERPRET") == "1" and find_spec("triton") is not None)


def tensor(array):
    """An array as a tensor there; None stays None."""
    import torch

    return None if array is None else torch.from_numpy(array).to(DEVICE)
