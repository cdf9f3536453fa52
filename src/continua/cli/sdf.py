"""`continua sdf`: a distance field from a surface."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from continua.cli.formatting import bytes_text, pairs, print_json
from continua.errors import InputError

if TYPE_CHECKING:
    from continua.mesh import SurfaceMesh

__all__ = ["describe_field", "make_field"]


def make_field(
    source: Path,
    target: Path,
    *,
    tolerance: float,
    near: float,
    continuity: float,
    winding: bool,
    close_holes: bool,
    picture: Path | None,
    quiet: bool,
) -> None:
    """Fit a field to the surface in `source`, write it to `target`, draw slices and print the errors."""
    from continua.mesh import SurfaceMesh, read
    from continua.mesh import close_holes as closed
    from continua.render.picture import save_png
    from continua.render.slices import draw_slices
    from continua.sdf import ExactDistance, fit

    drawn = picture or target.with_suffix(".png")
    for path in (target, drawn):
        if not path.parent.is_dir():
            raise InputError("there is no such folder", where=str(path.parent))
        if path.exists() and path.samefile(source):
            raise InputError("is the input; choose another name for the output", where=str(path))
    mesh = read(source)
    if not isinstance(mesh, SurfaceMesh):
        mesh = mesh.surface
    if close_holes:
        mesh = closed(mesh)
    if not (mesh.is_closed or winding):
        _refuse_holes(mesh, source)
    exact = ExactDistance(mesh, "winding" if winding else "normals")
    notes = list(mesh.notes)
    if not winding and len(exact.crossings):
        notes.append(
            f"{len(exact.crossings)} triangles pass through others; signs near them may be wrong: try --winding"
        )
    with _Bar(quiet) as bar:
        field = fit(exact, tolerance=tolerance, near=near, continuity=continuity, progress=bar.show)
    field.save(target)
    save_png(draw_slices(field), drawn)
    if not quiet:
        describe_field(target)
        for note in notes:
            print(f"  note: {note}")
        print(f"wrote {target} and {drawn}")


def _refuse_holes(mesh: SurfaceMesh, source: Path) -> None:
    from continua.sdf.checks import hole_text

    raise InputError(f"{hole_text(mesh)}; add --close-holes or --winding", where=str(source))


def describe_field(path: Path, *, as_json: bool = False) -> None:
    """Print a summary of a field file."""
    from continua.sdf import load

    field = load(path)
    report = field.report
    low, high = field.bounds
    if as_json:
        sizes = {"cells": field.cell_count, "coefficients": len(field.table.coefficients)}
        print_json(
            {
                "file": str(path),
                "bounds": [low.tolist(), high.tolist()],
                **sizes,
                "bytes": path.stat().st_size,
                "source": field.source_hash,
                "report": asdict(report),
            }
        )
        return
    pairs(
        f"{path}: a distance field",
        [
            ("box", " x ".join(f"{a:.4g}..{b:.4g}" for a, b in zip(low, high, strict=True)) + " m"),
            ("cells", f"{field.cell_count:,}, degrees 0 to {int(field.table.degrees.max())}"),
            ("size", f"{bytes_text(path.stat().st_size)} ({len(field.table.coefficients):,} coefficients)"),
            (
                "squared error",
                f"{report.squared_error:.3g} of {report.tolerance:g}, in units of {report.scale:.4g} m",
            ),
            ("rms error", f"{report.rms_error:.3g} m; {report.near_error:.3g} m near the surface"),
            ("largest error", f"{report.max_error:.3g} m"),
            ("weights", f"near {report.near:g}, continuity {report.continuity:g}"),
            ("made from", field.source_hash[:16] or "a function"),
        ],
    )


class _Bar:
    """A bar on a terminal, occasional plain lines elsewhere."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._last = time.perf_counter()
        self._live = None
        if not quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            self._live = Progress(
                BarColumn(24), TextColumn("{task.description}"), TimeElapsedColumn(),
                console=Console(stderr=True), transient=True,
            )  # fmt: skip
            self._task = self._live.add_task("sampling", total=1.0)

    def __enter__(self) -> _Bar:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_error: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, part: float, text: str) -> None:
        """Update the progress of the fit."""
        if self._live is not None:
            self._live.update(self._task, completed=part, description=text)
        elif not self._quiet and time.perf_counter() - self._last > 5.0:
            self._last = time.perf_counter()
            print(f"{100 * part:3.0f} %  {text}", file=sys.stderr, flush=True)
