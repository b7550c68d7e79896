"""Draw the README's picture: test error on the bundled digits against the number of features, for four bases."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from bochner.demo import run

SIZES = [20, 60, 200, 600, 2000]
SHOWN = {
    "RandomFourier, int8": "Fourier, 8-bit integers",
    "RandomMaxout": "maxout",
    "RandomRidge": "ReLU",
    "RandomBins": "bins",
}


def main() -> None:
    runs = {m: [{r["model"]: 100 * r["error"] for r in run(m, seed)} for seed in range(3)] for m in SIZES}
    plt.switch_backend("svg")
    plt.rcParams["svg.hashsalt"] = "bochner"  # the same file from the same numbers
    figure, axes = plt.subplots(figsize=(7, 3.4))
    for name, label in SHOWN.items():
        axes.plot(SIZES, [np.mean([r[name] for r in runs[m]]) for m in SIZES], marker="o", label=label)
    for name, style in (("plain ridge", ":"), ("exact RBF SVM", "--")):
        axes.axhline(runs[SIZES[0]][0][name], color="grey", linestyle=style)
        axes.annotate(
            name, (SIZES[0], runs[SIZES[0]][0][name]), xytext=(2, 3), textcoords="offset points", color="grey"
        )
    axes.set(xscale="log", yscale="log", xlabel="random features", ylabel="test error, %")
    axes.set_title("Handwritten digits: ridge regression on random features", fontsize=11)
    axes.set_xticks(SIZES, [str(m) for m in SIZES])
    axes.set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
    axes.minorticks_off()
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(Path(__file__).parent / "images" / "digits.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
