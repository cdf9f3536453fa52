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


STYLES = {
    "Multigrid": ("tab:blue", "o", "-", 2.4),
    "PMultigrid, order 2": ("tab:cyan", "s", "-", 2.4),
    "SSOR": ("tab:green", "^", "-", 1.4),
    "Jacobi": ("tab:red", "v", "-", 1.4),
    "Jacobi, order 2": ("tab:pink", "v", ":", 1.4),
    "Merged": ("tab:orange", "D", "-", 1.4),
    "Direct": ("tab:gray", "p", "-", 1.4),
    "PyAMG": ("tab:purple", "x", "--", 1.4),
    "CHOLMOD": ("black", "+", "--", 1.4),
}
"""Colour, marker, line and width of every solver; those of other libraries are dashed."""

LABELS = {
    "SSOR": "PCG, SSOR",
    "Jacobi": "PCG, Jacobi",
    "Jacobi, order 2": "PCG, Jacobi, order 2",
    "Merged": "MergedPCG",
    "Direct": "Direct (SuperLU)",
    "PyAMG": "PyAMG, rigid-body modes",
}


def plot_solvers(source: Path) -> None:
    """Plot milliseconds over nodes, log-log, one line a solver, the slowest first in the legend."""
    rows = json.loads(source.read_text(encoding="utf-8"))["rows"]
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    lines = []
    for name, (color, marker, line, width) in STYLES.items():
        points = [(row["nodes"], row[f"{name} ms"]) for row in rows if f"{name} ms" in row]
        if points:
            nodes, spent = zip(*points, strict=True)
            label = LABELS.get(name, name)
            axes.loglog(nodes, spent, color=color, marker=marker, ls=line, lw=width, ms=5, label=label)
            lines.append((spent[-1] / nodes[-1], label))
    nodes = [row["nodes"] for row in rows]
    low = min(row["Multigrid ms"] / row["nodes"] for row in rows)
    axes.loglog(nodes, [0.55 * low * n for n in nodes], color="0.6", lw=1, ls=(0, (1, 3)))
    axes.annotate(
        "proportional to nodes", (nodes[-3], 0.45 * low * nodes[-3]), color="0.4", fontsize=8, va="top"
    )
    axes.set_xlabel("nodes")
    axes.set_ylabel("update and solve [ms]")
    axes.grid(True, which="major", alpha=0.4)
    axes.grid(True, which="minor", alpha=0.12)
    handles = dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
    order = [label for _, label in sorted(lines, reverse=True)]
    axes.legend([handles[label] for label in order], order, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(IMAGES / "solvers.svg", metadata={"Date": None})


if __name__ == "__main__":
    plot_solvers(Path(sys.argv[1]))
