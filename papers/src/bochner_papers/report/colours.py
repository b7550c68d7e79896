"""One colour for each method, the same in every chart of a page, and different ones within a chart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

COLOURS = 12  # of the page's palette
USUAL = {  # methods that many charts have
    "ours": 0, "random stumps": 0, "Fourier": 0, "Fastfood": 0, "maxout": 4, "binning": 2, "AdaBoost": 1, "SVM": 3,
    "exact SVM": 3, "gradient boosting": 1, "small network": 7, "network": 7, "pixels": 9, "frames": 9, "learned": 5,
    "random": 0, "matching pursuit": 6, "sigmoid": 5,
}  # fmt: skip


def assigned(charts: Iterable[Sequence[str]]) -> dict[str, int]:
    """Name -> number of a colour. `charts` has the names of each chart; a name never changes its colour.

    A name takes its usual colour, or else the one that is used least among those not taken in any of its charts. A
    chart with more names than there are colours goes on with numbers beyond them.
    """
    groups = [list(dict.fromkeys(names)) for names in charts]
    colours = {name: USUAL[name] for names in groups for name in names if name in USUAL}
    for names in sorted(groups, key=len, reverse=True):
        for name in names:
            if name in colours:
                continue
            taken = {colours[other] for group in groups if name in group for other in group if other in colours}
            used = list(colours.values())
            free = [colour for colour in range(COLOURS) if colour not in taken]
            beyond = max(COLOURS, *(colour + 1 for colour in taken)) if taken else COLOURS
            colours[name] = min(free, key=used.count) if free else beyond
    return colours
