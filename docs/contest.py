"""docs/contest.md from docs/contest.json, which `bochner contest all --out docs/contest.json` wrote."""

import sys
from pathlib import Path

from bochner.bench.contest import CONTESTANTS, page, read

HERE = Path(__file__).parent


def main(source=HERE / "contest.json"):
    titles = {name: kind.title for name, kind in CONTESTANTS.items()}
    Path(source).with_suffix(".md").write_text(page(read(Path(source)), titles), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
