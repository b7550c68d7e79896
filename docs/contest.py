"""docs/contest.md from docs/contest.json, which `bochner contest all --out docs/contest.json` wrote.

docs/contest-reasons.json says, of sets on which ours is far behind, what was found to be the reason, and how.
"""

import json
import sys
from pathlib import Path

from bochner.bench.contest import CONTESTANTS, page, read

HERE = Path(__file__).parent


def main(source=HERE / "contest.json"):
    titles = {name: kind.title for name, kind in CONTESTANTS.items()}
    reasons = json.loads((HERE / "contest-reasons.json").read_text(encoding="utf-8"))
    Path(source).with_suffix(".md").write_text(page(read(Path(source)), titles, reasons), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
