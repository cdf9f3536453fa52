"""Bodies in contact: soft tori in a pile, a thin sheet over a bunny, rigid bodies on poles; the share of contact.

The bunny is the surface in the file $CONTINUA_BUNNY, or a smooth body with a head and two ears. Each soft scene is
stepped until many contacts are active, and then timed; the time without contact is that of the same bodies in free
fall. The rigid bodies are those of `rigid-pile`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np

import continua as ct
from benchmarks import rigid_pile
from benchmarks.report import Result
from benchmarks.run import Run
from benchmarks.shared_surfaces import bunny

SEARCH = "contact search"


def _tori(count: int) -> list[ct.SoftBody]:
    rng = np.random.default_rng(0)
    ring = ct.mesh.torus(0.1, 0.04, (2, 16))
    bodies = []
    for k in range(count):
        layer, place = divmod(k, 4)
        angle = np.pi / 2 * place + 0.4 * layer
        at = (0.21 * np.cos(angle), 0.16 + 0.29 * layer, 0.21 * np.sin(angle))
        mesh = ring.transformed(rotate=rng.normal(size=3)).transformed(translate=at)
        material = ct.Corotated(young=2e5, poisson=0.35, density=1000.0)
        bodies.append(ct.SoftBody(mesh, material=material, damping=(0.3, 0.004), name=f"ring{k}"))
    return bodies


def _pile(contact: bool, count: int) -> ct.World:
    walls = [ct.Plane(), ct.Cylinder((0, 4.9, 0), radius=0.45, height=10.0, inside=True)]
    return _world(_tori(count), walls, contact)


def _sheet(contact: bool, cells: int) -> ct.World:
    shape = bunny().transformed(scale=0.5)
    shape = shape.transformed(translate=-shape.bounds[0])
    middle = shape.bounds.mean(axis=0)
    corner = (middle[0] - 0.45, shape.bounds[1, 1] + 0.01, middle[2] - 0.45)
    mesh = ct.mesh.box((0.9, 0.01, 0.9), (cells, 1, cells), origin=corner)
    material = ct.Corotated(young=5e4, poisson=0.3, density=300.0)
    sheet = ct.SoftBody(mesh, material=material, damping=(0.5, 0.004), name="sheet")
    return _world([sheet], [ct.Plane(), ct.MeshShape(shape)], contact)


def _world(bodies: Sequence[ct.SoftBody], shapes: Sequence, contact: bool) -> ct.World:
    if contact:
        return ct.World(bodies, colliders=shapes, dt=0.01)
    pairs = {(a.name, b.name): {"collide": False} for a in bodies for b in bodies}
    return ct.World(bodies, dt=0.01, contact=ct.Contact(self_contact=False, pairs=pairs))


def _measure(run: Run, make: Callable[[bool], ct.World]) -> dict[str, object]:
    before, timed = run.choose((6, 2), (40, 20))
    free = make(False)
    alone = []
    for _ in run.steps(timed + 3, "without contact", 0.2):
        start = time.perf_counter()
        free.step()
        alone.append(time.perf_counter() - start)
    alone = alone[3:] or alone[-1:]  # a case that was stopped early has its last step only
    world = make(True)
    for _ in run.steps(before, "until contact", 0.5):
        world.step()
    times, search, contacts, solves, substeps, depths = [], [], [], [], [], []
    for _ in run.steps(timed, "with contact"):
        start = time.perf_counter()
        reports = world.step()
        times.append(time.perf_counter() - start)
        search.append(world.timers.get(SEARCH, 0.0))
        contacts.append(sum(report.contacts for report in reports))
        solves.append(max(report.iterations for report in reports))
        substeps.append(max(report.substeps for report in reports))
        depths.append(max(report.max_penetration for report in reports))
    step_time, search_time = statistics.mean(times), statistics.mean(search)
    return {
        "nodes": sum(body.node_count for body in world.bodies),
        "triangles": sum(len(body.triangles) for body in world.bodies),
        "steps/s": 1.0 / step_time,
        "contacts": float(statistics.mean(contacts)),
        "iterations": float(statistics.mean(solves)),
        "substeps": float(statistics.mean(substeps)),
        "ms per step": 1e3 * step_time,
        "ms of search": 1e3 * search_time,
        "share of search": search_time / step_time,
        "ms without contact": 1e3 * statistics.mean(alone),
        "share of contact": 1.0 - statistics.mean(alone) / step_time,
        "max penetration [mm]": 1e3 * max(depths),
    }


def main(run: Run) -> Result:
    """Step all scenes and measure where the time goes."""
    run.set_threads(2)
    tori, cells = run.choose((2, 6), (40, 45))
    rows: list[dict[str, object]] = []
    ratios = []
    for scene in run.cases(("tori", "sheet", "rigid")):
        if scene == "rigid":
            pile = rigid_pile.ours(run, "poles", run.choose(8, 800)).summary()
            figures = {"steps/s": 1e3 / pile["ms per step"], **pile}
            rows.append({"scene": "rigid bodies on 64 poles", **figures})
            continue
        make = (lambda on: _pile(on, tori)) if scene == "tori" else (lambda on: _sheet(on, cells))
        row = {
            "scene": f"{tori} tori in a pile" if scene == "tori" else "sheet over the bunny",
            **_measure(run, make),
        }
        ratios.append(float(str(row["ms without contact"])) / float(str(row["ms per step"])))
        rows.append(row)
    shares = [float(str(row["share of search"])) for row in rows if "share of search" in row]
    notes = [
        f"the search for contacts takes {100.0 * max(shares):.0f} % of a step at most",
        "ratio = a step without contact over one with contact, the smaller of both soft scenes",
    ]
    return Result("Bodies in contact, dt = 10 ms", rows, min(ratios), None, notes, ("scene",))
