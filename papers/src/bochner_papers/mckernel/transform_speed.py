"""Table 1 and Figure 1: milliseconds of a fast Walsh-Hadamard transform, beside the best that is installed.

One thread, 32-bit floats. Small sizes are done several in a call, so that the call itself is not what is timed. Spiral
is not installed: its column is the paper's, from the paper's laptop.
"""

from __future__ import annotations

import os

import numpy as np

from bochner.bench import Entry, time_shape

from ..findings import Chart, Claim, Comparison, Experiment, Findings, Job

PRINTED = {  # bits of the size: milliseconds of McKernel and of Spiral
    10: (0.0, 0.0333), 11: (0.0333, 0.0667), 12: (0.1, 0.167), 13: (0.0667, 0.2), 14: (0.2, 0.467), 15: (0.2, 0.9),
    16: (0.7, 1.667), 17: (1.3, 3.5), 18: (3.6, 7.667), 19: (7.86, 15.9667), 20: (15.9667, 35.7),
}  # fmt: skip
PRINTED_GAIN = 18  # of vector instructions and cache locality at 2^24
STEP = 1 / 30  # milliseconds: printed times are multiples of it
LARGER = (22, 24)  # Spiral ends at 2^20
TOGETHER = 15  # bits: as many numbers are transformed in a call, or one vector if it is larger

Table = dict[int, dict[str, float]]


def run(job: Job) -> Findings:
    sizes = list(PRINTED)[:3] if job.quick else [*PRINTED, *LARGER]
    kinds: dict[str, str] = {}
    table: Table = {}
    for bits in sizes:
        entries = measure(bits, 0.01 if job.quick else 0.3, definition=bits == sizes[-1])
        kinds |= {entry.who: entry.kind for entry in entries}
        table[bits] = {entry.who: milliseconds(entry, bits) for entry in entries}
        job.say(f"2^{bits}: " + ", ".join(f"{who} {value:.4g} ms" for who, value in table[bits].items()))
    load = os.getloadavg()[0]
    return Findings(
        settings={
            "numbers": "float32", "threads": 1, "time": "the best of many runs in one process",
            "other work": f"load of the machine {load:.1f}: others may have run at the same time",
        },
        comparisons=[compared(bits, own(table[bits], kinds)) for bits in table if bits in PRINTED]
        + [gain(table, kinds)],
        claims=claims(table, kinds),
        charts=[Chart("Milliseconds of a transform", rows(table), "size", "ms", "who", log_x=True, log_y=True,
                      style="whose")],
        remarks=[
            "Printed times are from an i5-4200 laptop and in steps of 1/30 ms; ours are from the machine named here.",
        ],
    )  # fmt: skip


def measure(bits: int, least: float, definition: bool) -> list[Entry]:
    return time_shape(together(bits), 1 << bits, np.float32, least=least, definition=definition)


def together(bits: int) -> int:
    return max(1, (1 << TOGETHER) >> bits)


def milliseconds(entry: Entry, bits: int) -> float:
    return 1e3 * entry.seconds / together(bits)


def own(times: dict[str, float], kinds: dict[str, str]) -> float:
    """Milliseconds of the first of ours, which the library takes by itself; the others are older instruction sets."""
    return next(value for who, value in times.items() if kinds[who] == "ours")


def best_peer(times: dict[str, float], kinds: dict[str, str]) -> tuple[str, float]:
    """The fastest other transform and its milliseconds; the definition in numpy is none."""
    peers = {who: value for who, value in times.items() if kinds[who] == "peer" and who != "numpy"}
    return min(peers.items(), key=lambda item: item[1], default=("", float("nan")))


def compared(bits: int, ours: float) -> Comparison:
    return Comparison(
        f"a transform of 2^{bits}", PRINTED[bits][0], ours, "ms", tolerance=STEP, kind="timing",
        why="another machine, with wider registers",
    )  # fmt: skip


def gain(table: Table, kinds: dict[str, str]) -> Comparison:
    bits = max(table)
    times = table[bits]["numpy"] / own(table[bits], kinds)
    return Comparison(
        f"how many times as fast as plain code, 2^{bits}", PRINTED_GAIN if bits == 24 else None, times, "times",
        better="higher", kind="timing", why="plain code is the definition in numpy here, and unknown there",
    )  # fmt: skip


def claims(table: Table, kinds: dict[str, str]) -> list[Claim]:
    printed = [bits for bits in table if bits in PRINTED]
    ours = {bits: own(times, kinds) for bits, times in table.items()}
    found = [
        Claim(
            "faster than Spiral throughout (its times as printed)",
            all(ours[bits] < PRINTED[bits][1] for bits in printed),
            ", ".join(f"{PRINTED[bits][1] / ours[bits]:.0f} times at 2^{bits}" for bits in printed),
        )
    ]
    beyond = [bits for bits in table if bits not in PRINTED]
    if beyond:
        found.append(Claim(
            "any size, where Spiral ends at 2^20",
            all(np.isfinite(ours[bits]) for bits in beyond),
            ", ".join(f"{ours[bits]:.3g} ms at 2^{bits}" for bits in beyond),
        ))  # fmt: skip
    peers = {bits: best_peer(times, kinds) for bits, times in table.items()}
    if peers[max(table)][0]:
        found.append(Claim(
            f"ours: faster than {peers[max(table)][0]}, the best transform installed, at every size",
            all(ours[bits] < peers[bits][1] for bits in table),
            ", ".join(f"{peers[bits][1] / ours[bits]:.2f} times at 2^{bits}" for bits in table), "ours",
        ))  # fmt: skip
    return found


def rows(table: Table) -> list[dict[str, object]]:
    shown = [
        {"size": 1 << bits, "ms": value, "who": who, "whose": "here"}
        for bits, times in table.items()
        for who, value in times.items()
    ]
    for number, who in enumerate(("McKernel", "Spiral")):
        # A time of 0 has no place on a logarithmic axis.
        points = [(bits, PRINTED[bits][number]) for bits in table if bits in PRINTED and PRINTED[bits][number]]
        shown += [{"size": 1 << bits, "ms": value, "who": who, "whose": "printed"} for bits, value in points]
    return shown


EXPERIMENT = Experiment(
    "mckernel-transform", "mckernel", "Table 1 and Figure 1: the fast Walsh-Hadamard transform", run
)
