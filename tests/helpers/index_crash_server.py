"""Kill a process that saves one of two indexes over the other, again and again; the name must always hold one of them.

Blows fall until enough of them met a file half written and the name has held each index: chance and a busy machine
decide how many that takes, not whether the test passes.

A process of its own that forks: the library is imported once. Prints one line of JSON. Run as
`python index_crash_server.py <folder> <kills> <seed>`.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["BOCHNER_NUM_THREADS"] = "1"  # no threads before fork

import numpy as np

import bochner

ROWS = np.random.default_rng(0).standard_normal((20_000, 16))
PARTS = ".bochner-*.part"
INDEXES = [bochner.MaxoutIndex(4, random_state=seed).fit(ROWS) for seed in (1, 2)]


def save_for_ever(path):
    process = os.fork()
    if process == 0:
        try:
            while True:
                for index in INDEXES:
                    index.save(path)
        finally:
            os._exit(1)
    return process


def main(folder, kills, seed):
    chance, path = random.Random(seed), folder / "index.bochner"
    whole = []
    for index in INDEXES:
        index.save(path)
        whole.append(path.read_bytes())
    result = {"kills": 0, "in_the_middle": 0, "broken": 0, "seen": [0, 0]}
    while result["in_the_middle"] < kills or min(result["seen"]) == 0:
        process = save_for_ever(path)
        time.sleep(chance.uniform(0.0, 0.2))
        while not any(folder.glob(PARTS)) and os.waitpid(process, os.WNOHANG)[0] == 0:
            time.sleep(0.0001)
        time.sleep(chance.uniform(0.0, 0.002))
        os.kill(process, signal.SIGKILL)
        result["kills"] += os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL
        parts = list(folder.glob(PARTS))
        result["in_the_middle"] += len(parts)
        for part in parts:
            part.unlink()
        found = path.read_bytes()
        if found in whole and bochner.load(path).hash_.seed_ == 1 + whole.index(found):
            result["seen"][whole.index(found)] += 1
        else:
            result["broken"] += 1
    print(json.dumps(result))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
