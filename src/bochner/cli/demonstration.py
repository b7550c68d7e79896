"""`bochner demo`: the main job on data that ships with scikit-learn."""

from __future__ import annotations

from rich.table import Table

from .. import demo as demonstration
from .app import Printing, app, show


@app.command
def demo(*, components: int = 2000, seed: int = 0, printing: Printing = Printing()) -> None:  # noqa: B008
    """Classify handwritten digits with every basis and without settings, beside plain ridge and an exact RBF SVM.

    Parameters
    ----------
    components
        The number of random features of each basis.
    seed
        Seed of the random features (random_state).
    """
    with printing.settings():
        rows = demonstration.run(components, seed)
    table = Table("model", title="Handwritten digits: half to learn from, half to test on")
    for name in ("features", "seconds", "test error"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(row["model"], f"{row['features']:,}", f"{row['seconds']:.2f}", f"{100 * row['error']:.2f} %")
    show(printing, rows, table)
