"""What an experiment found: numbers beside the printed ones with a verdict, claims that hold or not, and charts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Comparison:
    """A number that was printed, or that a peer reached, and ours. They agree within `tolerance`.

    Beyond it, `why` is what we believe the reason to be.
    Spreads are standard deviations over seeds. `better` says which way is better, if one is.
    """

    what: str
    printed: float | None
    ours: float
    unit: str = "%"
    printed_spread: float | None = None
    spread: float | None = None
    tolerance: float = 0.0
    better: Literal["lower", "higher"] | None = "lower"
    why: str = ""

    @property
    def difference(self) -> float | None:
        return None if self.printed is None else self.ours - self.printed

    @property
    def verdict(self) -> str:
        if self.difference is None:
            return "nothing printed"
        if abs(self.difference) <= self.tolerance:
            return "agrees"
        if self.better is None:
            return "differs"
        return "better" if (self.difference < 0) == (self.better == "lower") else "worse"

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "difference": self.difference, "verdict": self.verdict}


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, or a target of ours, and whether the numbers bear it out."""

    text: str
    holds: bool
    evidence: str


@dataclass(frozen=True)
class Chart:
    """Rows to draw: `x` and `y` (and `color`) name their columns. `kind` "image" draws x, y as cells of that colour."""

    title: str
    rows: Sequence[dict[str, Any]]
    x: str
    y: str
    color: str | None = None
    kind: Literal["line", "point", "image", "text"] = "line"
    log_x: bool = False
    log_y: bool = False
    label: str | None = None  # the column of what is written beside each point, for "text"


@dataclass
class Findings:
    """All that one experiment has to say. `settings` are what it ran with, to be read by people."""

    settings: dict[str, Any]
    comparisons: list[Comparison] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {
            "settings": self.settings,
            "comparisons": [comparison.to_json() for comparison in self.comparisons],
            "claims": [asdict(claim) for claim in self.claims],
            "charts": [asdict(chart) for chart in self.charts],
            "remarks": self.remarks,
        }


@dataclass(frozen=True)
class Job:
    """How to run: `quick` on what scikit-learn ships, in seconds; else as in the paper. `say` tells of progress."""

    quick: bool = False
    say: Callable[[str], None] = lambda text: None


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper. `needs` names the folders of data sets; a quick run needs none."""

    name: str
    paper: str
    title: str
    run: Callable[[Job], Findings]
    needs: tuple[str, ...] = ()
