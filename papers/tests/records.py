"""A record with every kind of chart and verdict, and with text that tries to be more than text."""

from bochner_papers import Cause, Chart, Claim, Comparison, Findings

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> & \"quoted\" 'text' {{ 7 * 7 }} [bold]"


def chart(title, rows, x, y, color=None, **other):
    return Chart(title, rows, x, y, color, **other)


CHARTS = [
    chart("Lines on logarithmic axes, and one row that has no place there",
          [{"m": m, "error": 90 / (m + 1), "q": q} for m in (0, 10, 100, 1000) for q in (4, 8)], "m", "error", "q",
          log_x=True, log_y=True),
    chart("Points", [{"a": k % 7, "b": k % 11, "set": f"set {k % 3}"} for k in range(60)], "a", "b", "set",
          kind="point"),
    chart("A gradient of colour", [{"a": k % 7, "b": k % 11, "c": k / 3} for k in range(60)], "a", "b", "c",
          kind="point"),
    chart("An image", [{"i": i, "j": j, "value": i - j} for i in range(8) for j in range(6)], "j", "i", "value",
          kind="image"),
    chart("Text at places", [{"x": k, "y": k * k % 5, "who": f"w{k}"} for k in range(9)], "x", "y", kind="text",
          label="who"),
    chart("Words along an axis", [{"model": n, "error": e} for n, e in (("SVM", 3), ("boosting", 4))], "model", "error",
          kind="point"),
    chart("More colours than the palette has, with names as long as a phone is wide, or longer",
          [{"n": n, "s": n + k, "who": f"a series with quite a long name {k}"} for n in (1, 2) for k in range(14)],
          "n", "s", "who"),
    chart("What was printed, hollow and dashed beside ours", [{"m": m, "error": e / m, "method": "Fourier", "whose": w}
          for m in (1, 2, 4) for e, w in ((4, "done here"), (5, "as printed"))], "m", "error", "method", style="whose"),
    chart(HOSTILE, [{HOSTILE: 1, "y.z[0]": 2, "who": HOSTILE, "l": HOSTILE}, {HOSTILE: 2, "y.z[0]": None, "who": "b",
          "l": "c"}], HOSTILE, "y.z[0]", "who", kind="text", label="l"),
]  # fmt: skip
COMPARISONS = [
    Comparison("m = 1,000", 5.0, 5.2, printed_spread=0.11, spread=0.093, tolerance=0.3),
    Comparison("m = 2,000", 5.0, 4.0, why="a finer grid of penalties"),
    Comparison("m = 5,000", 5.0, 6.0, why="a finer grid of penalties"),
    Comparison("m = 8,000", 5.0, 5.3, spread=0.4),
    Comparison("seconds", 12.0, 0.52, unit="s", kind="timing", why="another machine"),
    Comparison("of fewer rows", 5.0, 9.0, kind="other data", why=Cause("fewer rows", "with half of them", "trying")),
    *(
        Comparison(
            f"q = {q}, m = {m:,}",
            5.04,
            5.0,
            printed_spread=0.1,
            spread=0.2,
            tolerance=0.3,
            grid=(f"q = {q}", f"m = {m:,}"),
        )
        for q in (2, 16)
        for m in (100, 500, 1000, 5000, 10_000)
    ),
    Comparison(HOSTILE, None, 1.91, unit=HOSTILE, why=HOSTILE),
]
FINDINGS = Findings(
    settings={"rows": 60_000, "pool sizes": [4, 8], "centred": True, HOSTILE: {HOSTILE: HOSTILE}},
    comparisons=COMPARISONS,
    claims=[
        Claim("error falls with m", True, "at every q", why="never shown"),
        Claim("q = 4 is best", None, "2.2 and 2.2", "ours"),
        Claim("a bound holds", False, "it was above", why=Cause("a slip in its proof", "by counting", "test_a_bound")),
        Claim(HOSTILE, False, HOSTILE, why=Cause(HOSTILE, HOSTILE, HOSTILE)),
    ],
    charts=CHARTS,
    remarks=["Inputs are divided by 255.", HOSTILE],
)
MACHINE = {"processor": HOSTILE, "cores": 2, "packages": {"numpy": "2.0", "torch": None}, "commit": "abc1234"}


def record(name="trying", paper="random_maxout_features", title="Table 1: all there is", quick=False, seconds=734.2):
    return {
        "name": name, "paper": paper, "title": title, "quick": quick, "seconds": seconds, "machine": MACHINE,
        **FINDINGS.to_json(),
    }  # fmt: skip
