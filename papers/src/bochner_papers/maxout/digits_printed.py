"""The printed Table 1, and what ours says beside it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..findings import Claim, Comparison, beyond_noise

PRINTED = {  # mean and standard deviation, for m = 100, 500, 1000, 5000, 10000
    1: ((17.68, 0.28), (14.76, 0.23), (14.64, 0.08), (15.02, 0.64), (15.12, 0.58)),
    2: ((16.95, 0.5321), (7.98, 0.22), (5.62, 0.18), (2.86, 0.11), (2.35, 0.04)),
    4: ((18.24, 0.39), (7.70, 0.24), (5.50, 0.16), (2.78, 0.07), (2.23, 0.07)),
    8: ((18.9, 0.28), (7.98, 0.47), (5.59, 0.19), (2.81, 0.10), (2.32, 0.09)),
    16: ((20.57, 0.76), (8.19, 0.21), (5.66, 0.15), (2.87, 0.12), (2.58, 0.04)),
}
CLOSE = 0.35  # points within which two errors agree, whatever their spreads

Table = dict[int, np.ndarray]  # pool size -> errors (seeds, numbers of features)


def cells(columns: Sequence[int], table: Table, quick: bool) -> list[Comparison]:
    """Every cell beside the printed one, unless a quick run is of other data."""
    return [
        cell((f"q = {q}", f"m = {m:,}"), errors[:, k], None if quick else PRINTED[q][k])
        for q, errors in table.items()
        for k, m in enumerate(columns)
    ]


def cell(place: tuple[str, str], errors: np.ndarray, printed: tuple[float, float] | None) -> Comparison:
    """They agree within three standard deviations of the difference, or within 0.35 points."""
    ours, spread, what = float(errors.mean()), float(errors.std(ddof=1)), ", ".join(place)
    if printed is None:
        return Comparison(what, None, ours, spread=spread, grid=place)
    tolerance = max(CLOSE, 3 * float(np.hypot(printed[1], spread)))
    unknown = "the paper does not say how pixels were scaled nor which penalties were tried"
    return Comparison(
        what, printed[0], ours, printed_spread=printed[1], spread=spread, tolerance=tolerance, grid=place,
        why=unknown if abs(ours - printed[0]) > tolerance else "",
    )  # fmt: skip


def claims(columns: Sequence[int], printed: Table, quick: bool) -> list[Claim]:
    last = {q: (float(errors[:, -1].mean()), float(errors[:, -1].std(ddof=1))) for q, errors in printed.items()}
    other = min((q for q in last if q != 4), key=lambda q: last[q][0])
    found = [
        Claim(f"q = 4 is the best pool size at m = {columns[-1]:,}",
              beyond_noise(last[other][0] - last[4][0], float(np.hypot(last[4][1], last[other][1]))), said(last)),
        Claim("one projection per unit stays a linear classifier, far behind", last[1][0] > 2 * last[2][0], said(last)),
    ]  # fmt: skip
    if not quick:
        agree = sum(cell.verdict == "agrees" for cell in cells(columns, printed, quick))
        text = "every cell is within 3 standard deviations or 0.35 points"
        found.insert(0, Claim(text, agree == 25, f"{agree} of 25", "ours"))
    return found


def rows_of_chart(columns: Sequence[int], table: Table, quick: bool) -> list[dict[str, object]]:
    """Ours and the printed values."""
    rows: list[dict[str, object]] = [
        {"m": m, "test error, %": float(errors[:, k].mean()), "pool size": f"q = {q}", "whose": "ours"}
        for q, errors in table.items() for k, m in enumerate(columns)
    ]  # fmt: skip
    return rows if quick else rows + [
        {"m": m, "test error, %": PRINTED[q][k][0], "pool size": f"q = {q}", "whose": "printed"}
        for q in table for k, m in enumerate(columns)
    ]  # fmt: skip


def speed(fits: int, seconds: float, busy: float) -> Claim:
    """`busy` is the time of all threads together, which tells how much of the machine there was."""
    evidence = f"{seconds:.0f} seconds, in which the processors worked {busy:.0f} seconds for it, feature maps included"
    return Claim(f"{fits} fits take less than 15 minutes", seconds < 900, evidence, "ours")


def said(numbers: dict[int, tuple[float, float]]) -> str:
    return ", ".join(f"q = {q}: {mean:.2f} ± {spread:.2f} %" for q, (mean, spread) in numbers.items())
