"""Make the plots of the docs from the results of benchmarks.

python -m benchmarks solvers --json solvers.json
python docs/make_plots.py solvers.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "continua"

import matplotlib.pyplot as plt  # noqa: E402  (after the choice of the backend)

IMAGES = Path(__file__).parent / "images"


def plot_solvers(source: Path) -> None:
    """Plot milliseconds over nodes, log-log, one line a solver."""
    rows = json.loads(source.read_text(encoding="utf-8"))["rows"]
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    names = dict.fromkeys(key for row in rows for key in row if key.endswith(" ms"))
    for name in names:
        points = [(row["nodes"], row[name]) for row in rows if name in row]
        axes.loglog(*zip(*points, strict=True), marker="o", label=name.removesuffix(" ms"))
    axes.set_xlabel("nodes")
    axes.set_ylabel("update and solve [ms]")
    axes.grid(True, which="both", alpha=0.3)
    axes.legend()
    figure.savefig(IMAGES / "solvers.svg", metadata={"Date": None})


if __name__ == "__main__":
    plot_solvers(Path(sys.argv[1]))
