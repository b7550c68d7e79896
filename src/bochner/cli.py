"""The command line. `bochner demo` shows the main job on data that ships with scikit-learn."""

from __future__ import annotations

import json
import sys
from typing import Annotated

try:
    from cyclopts import App, Parameter
    from rich.console import Console
    from rich.table import Table
except ImportError:
    sys.exit('the command line needs two small packages: pip install "bochner[cli]"')

from . import demo as demonstration

app = App(name="bochner", help="Kernel machines as cheap as linear algebra.")


@app.command
def demo(
    *,
    components: Annotated[int, Parameter(help="columns of each basis")] = 2000,
    seed: Annotated[int, Parameter(help="seed of the random features")] = 0,
    as_json: Annotated[bool, Parameter(name="--json", negative="", help="print JSON instead of a table")] = False,
) -> None:
    """Classify handwritten digits with ridge regression on every basis, beside plain ridge and an exact RBF SVM."""
    rows = demonstration.run(components, seed)
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    table = Table("model", title="Handwritten digits: half to learn from, half to test on")
    for name in ("features", "seconds", "test error"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(row["model"], f"{row['features']:,}", f"{row['seconds']:.2f}", f"{100 * row['error']:.2f} %")
    Console().print(table)


def main() -> None:
    """The entry point: bad input ends with one sentence and a non-zero exit."""
    try:
        app()
    except ValueError as error:
        sys.exit(f"bochner: {error}")
