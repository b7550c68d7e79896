"""What an experiment found: numbers beside the printed ones with a verdict, claims that hold or not, and charts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from math import hypot
from typing import Any, Literal


def beyond_noise(difference: float, spread: float) -> bool | None:
    """Whether a difference is positive; None, undecided, within one standard deviation of it."""
    return None if abs(difference) <= spread else bool(difference > 0)


@dataclass(frozen=True)
class Cause:
    """Why a number or a claim came out as it did: what was done to test that, and the record or test that shows it."""

    text: str
    tested: str = ""
    by: str = ""


@dataclass(frozen=True)
class Comparison:
    """A number that was printed, or that a peer reached, and ours. They agree within `tolerance`.

    Spreads are standard deviations over seeds; beyond the tolerance, but within one, it is undecided.
    `better` says which way is better, if one is. A "timing" is against another machine, and "other data" than the
    paper had are not the paper's: both are counted by themselves. `grid` is a place in a table, row and column.
    """

    what: str
    printed: float | None
    ours: float
    unit: str = "%"
    printed_spread: float | None = None
    spread: float | None = None
    tolerance: float = 0.0
    better: Literal["lower", "higher"] | None = "lower"
    why: str | Cause = ""
    kind: Literal["number", "timing", "other data"] = "number"
    grid: tuple[str, str] | None = None

    @property
    def difference(self) -> float | None:
        return None if self.printed is None else self.ours - self.printed

    @property
    def verdict(self) -> str:
        if self.difference is None:
            return "nothing printed"
        if self.kind == "other data":
            return "other data"
        if abs(self.difference) <= self.tolerance:
            return "agrees"
        if beyond_noise(self.difference, hypot(self.printed_spread or 0.0, self.spread or 0.0)) is None:
            return "undecided"
        if self.better is None:
            return "differs"
        return "better" if (self.difference < 0) == (self.better == "lower") else "worse"

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), **reasons(self.why), "difference": self.difference, "verdict": self.verdict}


@dataclass(frozen=True)
class Claim:
    """A statement and whether the numbers bear it out; None where they cannot tell.

    It is the paper's, a target of `ours`, or a contest with others.
    """

    text: str
    holds: bool | None
    evidence: str
    whose: Literal["paper", "ours", "contest"] = "paper"
    why: str | Cause = ""

    @property
    def verdict(self) -> str:
        return "undecided" if self.holds is None else "holds" if self.holds else "does not hold"

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), **reasons(self.why if self.holds is not True else ""), "verdict": self.verdict}


def reasons(why: str | Cause) -> dict[str, str]:
    cause = why if isinstance(why, Cause) else Cause(why)
    return {"why": cause.text, "tested": cause.tested, "by": cause.by}


@dataclass(frozen=True)
class Chart:
    """Rows to draw: `x` and `y` (and `color`) name their columns.

    `color` is the method, which has one colour in all charts; `style` tells ours from what a paper printed, which is
    drawn hollow and dashed. `kind` "image" draws x, y as cells of that colour, "picture" as grey pixels.
    """

    title: str
    rows: Sequence[dict[str, Any]]
    x: str
    y: str
    color: str | None = None
    kind: Literal["line", "point", "image", "text", "picture"] = "line"
    log_x: bool = False
    log_y: bool = False
    label: str | None = None  # the column of what is written beside each point, for "text"
    style: str | None = None


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
            "claims": [claim.to_json() for claim in self.claims],
            "charts": [asdict(chart) for chart in self.charts],
            "remarks": self.remarks,
        }


def measured_at_once(name: str, measure: Callable[..., Any], *given: Any) -> Any:
    return measure(*given)


@dataclass(frozen=True)
class Job:
    """How to run: `quick` on what scikit-learn ships, in seconds; else as in the paper. `say` tells of progress.

    `part(name, measure, ...)` is what `measure(...)` returns, as JSON has it; of a run that was killed, parts are kept.
    """

    quick: bool = False
    say: Callable[[str], None] = lambda text: None
    part: Callable[..., Any] = measured_at_once


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper. `needs` names the folders of data sets; a quick run needs none."""

    name: str
    paper: str
    title: str
    run: Callable[[Job], Findings]
    needs: tuple[str, ...] = ()
