"""docs/performance.md from docs/performance.json, which `bochner bench all --out docs/performance.json` wrote."""

import json
from pathlib import Path

HERE = Path(__file__).parent
TITLES = {
    "limits": "Limits of the machine",
    "fwht": "Walsh-Hadamard transform, one thread",
    "features": "Random features, all threads",
    "gram": "Gram matrix, all threads",
    "fit": "MNIST, end to end",
    "softmax": "Softmax",
}
HEAD = """# Performance

`make performance` makes this page from `docs/performance.json`, which `bochner bench all` wrote. All numbers in a table
come from one run on one machine, after the results were checked against the definitions; nothing is reported otherwise.
"Ours / this" says how many times as fast our best entry for the same work is; for a limit, it is the share that we
reach.

"""
ROOFLINE = """## Roofline

The table has the cost of each of our entries, the minimum time for this cost at the limits of the machine, and the time
that was measured. Bytes are only those of inputs and outputs in memory; vectors that stay in a cache have none. Where a
bench was run by itself, as its section says, the limits come from another run.

"""
COSTS = """## How the cost grows

n rows, d columns, m features, k outputs; B is the number of bytes of a feature (1, 2, 4 or 8).

| step | operations | memory traffic | what bounds it |
|---|---|---|---|
| dense projection (Fourier, maxout, ridge) | 2 n d m (half of it for cosine-sine pairs) | n d + n m B | multiply-adds |
| Fastfood | about 4 n m log2 d | n m B | additions, and the permutation in cache |
| stumps, gates | n m comparisons | n m B | writing the output |
| bins of P grids | n d P divisions in float64 | 16 n P | divisions, then ordering n P columns |
| cosine and sine | about 25 n m | in cache, with the projection | arithmetic |
| Gram matrix | n m^2 (one triangle) | n m B + 16 m^2 per block of rows | multiply-adds |
| Z'Y, scores | 2 n m k | n m B | multiply-adds; for few outputs, reading the features |
| candidate penalties | m^3 / 3 each, one float32 factorisation; three or four of them | 10 m^2 | multiply-adds |
| predictions | features + 2 n m k | n m B | as for the features |

Integer features cost one thirty-second of the float32 multiply-adds with AMX, a quarter with VNNI, and half with the
older 16-bit instruction. A 14-bit Gram matrix consists of three 8-bit ones. For any n, nothing larger than a block of
rows and a few m x m matrices is held in memory.
"""


def table(entries):
    lines = ["| work | entry | seconds | speed | ours / this | note |", "|---|---|---:|---:|---:|---|"]
    last = None
    for e in entries:
        ours = max((o["amount"] for o in entries if o["work"] == e["work"] and o["kind"] == "ours"), default=0)
        ratio = "" if e["kind"] == "ours" or not ours else f"{ours / e['amount']:.2f}"
        who = f"**{e['who']}**" if e["kind"] == "ours" else f"*limit: {e['who']}*" if e["kind"] == "limit" else e["who"]
        work = "" if e["work"] == last else e["work"]
        lines.append(
            f"| {work} | {who} | {e['seconds']:.4g} | {e['amount']:,.3g} {e['unit']} | {ratio} | {e['note']} |"
        )
        last = e["work"]
    return "\n".join(lines)


def roofline(results):
    """Of each of our entries, the least time that what it costs takes at the limits, beside the time it took."""
    rates = {e["who"]: 1e9 * e["amount"] for e in results["limits"]}
    lines = [
        "| work | entry | operations | bytes | bound by | limit, s | measured, s | reached |",
        "|---|---|---:|---:|---|---:|---:|---:|",
    ]
    for e in (e for entries in results.values() for e in entries if e["costs"]):
        least = {unit: cost / rates[unit] for unit, cost in e["costs"].items()}
        bound = max(least, key=least.get)
        moved = e["costs"].get("bytes", 0)
        operations = sum(cost for unit, cost in e["costs"].items() if unit != "bytes")
        lines.append(
            f"| {e['work']} | {e['who']} | {operations:.3g} | {moved:.3g} | {bound} | {least[bound]:.3g} | "
            f"{e['seconds']:.3g} | {least[bound] / e['seconds']:.0%} |"
        )
    return "\n".join(lines)


def measured(machine):
    packages = ", ".join(f"{name} {v}" for name, v in machine["packages"].items() if v)
    return (
        f"Measured on {machine['date']} at commit {machine['commit']}: {machine['processor']}, {machine['cores']} "
        f"cores, instruction set {machine['instruction_set']}; Python {machine['python']}, {packages}.\n\n"
    )


def main():
    found = json.loads((HERE / "performance.json").read_text())
    text = HEAD + measured(found["machine"])
    for name, entries in found["results"].items():
        apart = measured(found["apart"][name]) if name in found.get("apart", {}) else ""  # a bench run by itself
        text += f"## {TITLES[name]}\n\n{apart}{table(entries)}\n\n"
    (HERE / "performance.md").write_text(text + ROOFLINE + roofline(found["results"]) + "\n\n" + COSTS)


if __name__ == "__main__":
    main()
