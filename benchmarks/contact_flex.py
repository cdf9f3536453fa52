"""A soft ball dropped on a floor and on a box, against MuJoCo flex.

The ball has a radius of 0.1 m, 4,320 tetrahedra, E = 1e5 Pa, nu = 0.3 and 1000 kg/m3, and no damping. It falls by 5 cm
on a floor, or on a box of 10 cm whose edges press into it, in steps of 10 ms, with a friction of 0.5. MuJoCo has the
same mesh and step, its implicit `discrete` integrator, the tolerance of `beam-step` and otherwise its default options,
once with its CG solver, once with Newton's method. The time constant of its contacts, 20 ms, is the least that it
allows at this step. The ratio is that to its faster solver. Times are medians over the steps with contact; depths are
those of the deepest surface vertex below the floor or inside the box at the end of a step.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

import continua as ct
from benchmarks.report import Result
from benchmarks.run import Run

RADIUS, YOUNG, POISSON, DENSITY = 0.1, 1e5, 0.3, 1000.0
FALL, BOX, FRICTION = 0.05, 0.1, 0.5
DT, STEPS = 0.01, 80


@dataclass
class History:
    """What happened in the steps of a run.

    Attributes:
        seconds: Time of each step.
        contacts: Number of contacts in each step.
        depth: Deepest penetration of a surface vertex [m].
        lowest: Least mean height of the surface vertices [m].
        unconverged: Steps whose contact forces did not converge, as far as the engine says so.
    """

    seconds: list[float] = field(default_factory=list)
    contacts: list[int] = field(default_factory=list)
    depth: float = 0.0
    lowest: float = np.inf
    unconverged: int = 0

    def add(self, seconds: float, contacts: int, points: NDArray[np.float64], scene: str) -> None:
        """Record a step and the surface vertices at its end [m], shape [n, 3]."""
        self.seconds.append(seconds)
        self.contacts.append(contacts)
        self.depth = max(self.depth, depth_in(points, scene))
        self.lowest = min(self.lowest, float(points[:, 1].mean()))

    def ms(self, steps: int) -> float:
        """Median milliseconds of the first `steps` with contact; without any, of all of them."""
        touching = [s for s, n in zip(self.seconds[:steps], self.contacts[:steps], strict=True) if n]
        return 1e3 * statistics.median(touching or self.seconds[:steps])


def depth_in(points: NDArray[np.float64], scene: str) -> float:
    """Return how deep the deepest of the points [n, 3] is inside the obstacles [m]; 0 if none is."""
    deepest = -points[:, 1].min()
    if scene == "box":
        half = np.array([0.5 * BOX, 0.5 * BOX, 0.5 * BOX])
        inside = (half - np.abs(points - [0.0, 0.5 * BOX, 0.0])).min(axis=1)
        deepest = max(deepest, inside.max())
    return max(0.0, float(deepest))


def ball_mesh(cells: int, scene: str) -> ct.TetMesh:
    """Return the ball above the floor or the box."""
    top = BOX if scene == "box" else 0.0
    return ct.mesh.sphere(RADIUS, cells).transformed(translate=(0.0, top + FALL + RADIUS, 0.0))


def ours(run: Run, scene: str, mesh: ct.TetMesh) -> History:
    """Drop our ball."""
    ball = ct.SoftBody(
        mesh, material=ct.Corotated(young=YOUNG, poisson=POISSON, density=DENSITY), name="ball"
    )
    shapes: list[ct.contact.Shape] = [ct.Plane()]
    if scene == "box":
        shapes.append(ct.Box(center=(0.0, 0.5 * BOX, 0.0), size=(BOX, BOX, BOX)))
    world = ct.World([ball], colliders=shapes, dt=DT, contact=ct.Contact(friction=FRICTION))
    surface = np.unique(ball.triangles)
    found = History()
    for _ in run.steps(run.choose(20, STEPS), "Continua", 0.3):
        start = time.perf_counter()
        (report,) = world.step()
        seconds = time.perf_counter() - start
        found.add(seconds, report.contacts, ball.positions[surface], scene)
        found.unconverged += any("did not converge" in text for text in report.warnings)
    return found


def mujoco_flex(run: Run, scene: str, mesh: ct.TetMesh, solver: str) -> History:
    """Drop MuJoCo's ball, with all degrees of freedom of its vertices."""
    import mujoco

    numbers = " ".join
    box = (
        f'<geom type="box" pos="0 {BOX / 2} 0" size="{BOX / 2} {BOX / 2} {BOX / 2}" friction="{FRICTION}"/>'
        if scene == "box"
        else ""
    )
    model = mujoco.MjModel.from_xml_string(f"""
        <mujoco>
          <option timestep="{DT}" integrator="discrete" solver="{solver}" tolerance="1e-6" gravity="0 -9.81 0"/>
          <size memory="1G"/>
          <worldbody>
            <geom type="plane" zaxis="0 1 0" size="0 0 1" friction="{FRICTION}"/>
            {box}
            <flexcomp name="ball" type="direct" dim="3" mass="{DENSITY * mesh.volumes.sum()}" radius="0.001"
                      point="{numbers(f"{c:.9g}" for c in mesh.points.ravel())}"
                      element="{numbers(map(str, mesh.tets.ravel()))}">
              <edge equality="false" damping="0"/>
              <contact selfcollide="none" friction="{FRICTION}"/>
              <elasticity young="{YOUNG}" poisson="{POISSON}" damping="0"/>
            </flexcomp>
          </worldbody>
        </mujoco>""")
    data = mujoco.MjData(model)
    surface = np.unique(ct.SoftBody(mesh).triangles)
    found = History()
    for _ in run.steps(run.choose(20, STEPS), f"MuJoCo {solver}", 0.5):
        start = time.perf_counter()
        mujoco.mj_step(model, data)
        seconds = time.perf_counter() - start
        found.add(seconds, data.ncon, data.flexvert_xpos[surface], scene)
    return found


ENGINES: dict[str, Callable[[Run, str, ct.TetMesh], History]] = {
    "Continua": ours,
    "MuJoCo flex, CG": partial(mujoco_flex, solver="CG"),
    "MuJoCo flex, Newton": partial(mujoco_flex, solver="Newton"),
}


def main(run: Run) -> Result:
    """Drop both balls on both obstacles, in turns."""
    count = run.set_threads(1)
    os.environ["OMP_NUM_THREADS"] = str(count)  # MuJoCo steps one model on one thread
    cells = run.choose(2, 6)
    rows: list[dict[str, object]] = []
    ratios = []
    for scene in run.cases(("floor", "box")):
        mesh = ball_mesh(cells, scene)
        if not run.quick:
            ours(run, scene, mesh)  # compiles
        best: dict[str, float] = {}
        found: dict[str, History] = {}
        for number in range(run.choose(1, 2)):
            for name, simulate in ENGINES.items():
                if number and name.endswith("Newton"):
                    continue  # the slower one, once
                history = run.peer(
                    name.split(",")[0],
                    lambda simulate=simulate, scene=scene, mesh=mesh: simulate(run, scene, mesh),
                )
                if history is not None:
                    found[name] = history
                    best[name] = min(best.get(name, np.inf), history.ms(len(history.seconds)))
        for name, history in found.items():
            rows.append(
                {
                    "scene": scene,
                    "what": name,
                    "tets": len(mesh.tets),
                    "steps": len(history.seconds),
                    "most contacts": max(history.contacts),
                    "ms per step in contact": best[name],
                    "times ours": best[name] / best["Continua"],
                    "deepest [mm]": 1e3 * history.depth,
                    "lowest centre [mm]": 1e3 * history.lowest,
                    "unconverged steps": history.unconverged if name == "Continua" else "",
                }
            )
        peers = [ms for name, ms in best.items() if name != "Continua"]
        if peers:
            ratios.append(min(peers) / best["Continua"])
    return Result(
        f"A soft ball dropped at steps of {DT * 1e3:g} ms, {count} thread(s)",
        rows,
        min(ratios, default=None),
        None,
        ["ratio = a step of the faster solver of MuJoCo over ours, the smaller of both scenes"],
        ("scene", "what"),
    )
