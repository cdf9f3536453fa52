"""The mesher fTetWild (Hu et al. 2020, through pytetwild) in a separate process, which can be stopped at any time.

It has no interface for progress or cancellation, writes files to the current folder and logs much. So it runs in an
empty folder, its progress is read from its log, and the process is killed to stop it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError, MissingExtraError
from continua.mesh.surface_mesh import SurfaceMesh
from continua.numerics.progress import Progress

__all__ = ["TIME_LIMIT", "Deadline", "run_mesher"]

TIME_LIMIT = 900.0
"""Time after which the mesher is stopped, unless another one is asked for [s]."""

_PAUSE = 0.15  # s between two polls of the process

_MESHER = """
import sys
import numpy as np
import pytetwild

data = np.load("surface.npz")
length, tolerance, energy, steps = map(float, sys.argv[1:])
points, tets = pytetwild.tetrahedralize(
    data["points"], data["triangles"], edge_length_abs=length, epsilon=tolerance, stop_energy=energy,
    num_opt_iter=int(steps), vtk_ordering=True, quiet=False,
)
np.savez("mesh.npz", points=points, tets=tets)
"""

_STAGES = {
    "initializing": "preparing",
    "edge splitting": "splitting edges",
    "edge collapsing": "collapsing edges",
    "edge swapping": "swapping edges",
    "vertex smoothing": "moving nodes",
    "postprocessing": "finishing",
}


class Deadline:
    """The end of the time that several runs of the mesher have together.

    Args:
        seconds: Time from now on [s].
    """

    def __init__(self, seconds: float) -> None:
        self._seconds, self._end = seconds, time.monotonic() + seconds

    def check(self) -> None:
        """Raise InputError if the time is over."""
        if time.monotonic() > self._end:
            raise InputError(
                f"the mesher was stopped after {self._seconds:g} s; ask for a larger size or tolerance, simplify the "
                "surface, or raise time_limit"
            )


def run_mesher(
    surface: SurfaceMesh,
    length: float,
    tolerance: float,
    effort: tuple[float, int],
    deadline: Deadline,
    report: Progress,
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return points and tets inside a closed surface.

    Args:
        surface: The surface.
        length: Target edge length [m].
        tolerance: Maximum deviation of the boundary from the surface, relative to the diagonal.
        effort: It stops when the energy of no shape is above the first (a regular tet has 3), or after so many passes.
        deadline: When it is stopped.
        report: Called with the state; an exception that it raises stops the mesher and is passed on.
    """
    if find_spec("pytetwild") is None:
        raise MissingExtraError("making tetrahedra from a surface", "tet")
    options = [repr(float(value)) for value in (length, tolerance, *effort)]
    with tempfile.TemporaryDirectory(prefix="continua-mesh-") as name:
        folder = Path(name)
        np.savez(folder / "surface.npz", points=surface.points, triangles=surface.triangles)
        with open(folder / "log", "wb") as out, open(folder / "errors", "wb") as errors:
            process = subprocess.Popen(
                [sys.executable, "-c", _MESHER, *options], cwd=folder, stdout=out, stderr=errors
            )
            try:
                _watch(process, folder / "log", effort[1], deadline, report)
            finally:
                process.kill()
                process.wait()
        if process.returncode != 0:
            lines = (folder / "errors").read_text(errors="replace").strip().splitlines()
            reason = lines[-1] if lines else f"it ended with code {process.returncode}"
            raise InputError(f"the mesher could not fill the surface ({reason})")
        with np.load(folder / "mesh.npz") as data:
            points, tets = data["points"], data["tets"]
    if len(tets) == 0:
        raise InputError(
            "the mesher found no interior; close the largest holes of the surface, or give it a thickness"
        )
    return points, tets


def _watch(
    process: subprocess.Popen[bytes], log: Path, most: int, deadline: Deadline, report: Progress
) -> None:
    """Report the state from the log until the process has ended, after at most this many passes."""
    start = time.monotonic()
    reader = _Reader(most)
    with open(log, "rb") as lines:
        while True:
            reader.read(lines)
            deadline.check()
            report(None, f"meshing: {reader.text}{time.monotonic() - start:.0f} s")
            try:
                process.wait(_PAUSE)
            except subprocess.TimeoutExpired:
                continue
            return


class _Reader:
    """Reads the state of the mesher from the end of its log; it may end after any pass, so there is no percentage."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rest = ""
        self._pass = -1
        self._stage = ""
        self._tets = 0

    @property
    def text(self) -> str:
        """The current state, as words that a time may follow."""
        turn = (
            f"pass {self._pass + 1} of at most {self._most}, "
            if self._pass >= 0 and self._stage != "finishing"
            else ""
        )
        tets = f"{self._tets:,} tetrahedra, " if self._tets else ""
        return turn + (f"{self._stage}, " if self._stage else "") + tets

    def read(self, lines: IO[bytes]) -> None:
        """Process the new lines."""
        *whole, self._rest = (self._rest + lines.read().decode(errors="replace")).split("\n")
        for line in whole:
            if found := re.match(r"/+ (?:pass (\d+)|(\w+)) /+", line):
                self._pass = int(found[1]) if found[1] else self._pass
                self._stage = _STAGES.get(found[2] or "", self._stage)
            elif found := re.match(r"#t = (\d+)", line):
                self._tets = int(found[1])
            elif line.endswith("...") and self._stage != "finishing":
                self._stage = _STAGES.get(line[:-3], self._stage)
