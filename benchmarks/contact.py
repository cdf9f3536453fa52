"""Bodies that touch each other: 40 soft tori in a pile, a thin sheet over a bunny, 800 rigid bodies on 64 poles.

The bunny is that of the file named by CONTINUA_BUNNY (OBJ), or one of rounded limbs. Each soft scene is stepped until
it is in the middle of its contacts, and then timed; the time without contact is that of the same bodies in free fall.
The rigid bodies are those of `rigid-pile`, where they are held against other engines.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np

import continua as ct
from benchmarks import rigid_pile
from benchmarks.report import Result
from continua.coupling.contact.surface_contacts import SurfaceContacts

TORI, CALM, TIMED = 40, 40, 20


def _tori() -> list[ct.SoftBody]:
    rng = np.random.default_rng(0)
    ring = ct.mesh.torus(0.1, 0.04, (2, 16))
    bodies = []
    for k in range(TORI):
        layer, place = divmod(k, 4)
        angle = np.pi / 2 * place + 0.4 * layer
        at = (0.21 * np.cos(angle), 0.16 + 0.29 * layer, 0.21 * np.sin(angle))
        mesh = ring.transformed(rotate=rng.normal(size=3)).transformed(translate=at)
        material = ct.Corotated(young=2e5, poisson=0.35, density=1000.0)
        bodies.append(ct.SoftBody(mesh, material=material, damping=(0.3, 0.004), name=f"ring{k}"))
    return bodies


def _pile(touching: bool) -> ct.World:
    bodies = _tori()
    walls = [ct.Plane(), ct.Cylinder((0, 4.9, 0), radius=0.45, height=10.0, inside=True)]
    return _world(bodies, walls, touching)


def _bunny() -> ct.SurfaceMesh:
    path = os.environ.get("CONTINUA_BUNNY")
    if path:
        mesh = ct.mesh.close_holes(ct.mesh.read(path))
        size = float(np.ptp(mesh.points, axis=0).max())
        return mesh.transformed(scale=0.5 / size).transformed(translate=-0.5 / size * mesh.bounds[0])
    limbs = [
        ct.mesh.RoundCone((0, 0.15, 0), (0.15, 0.16, 0), 0.13),
        ct.mesh.RoundCone((0.25, 0.3, 0), (0.28, 0.3, 0), 0.09),
        ct.mesh.RoundCone((0.22, 0.36, 0.04), (0.15, 0.55, 0.06), 0.035),
        ct.mesh.RoundCone((0.22, 0.36, -0.04), (0.15, 0.55, -0.06), 0.035),
    ]
    return ct.mesh.blob(limbs, 0.02, 0.03).surface


def _sheet(touching: bool) -> ct.World:
    bunny = _bunny()
    middle = bunny.bounds.mean(axis=0)
    top = bunny.bounds[1, 1]
    mesh = ct.mesh.box((0.9, 0.01, 0.9), (45, 1, 45), origin=(middle[0] - 0.45, top + 0.01, middle[2] - 0.45))
    material = ct.Corotated(young=5e4, poisson=0.3, density=300.0)
    sheet = ct.SoftBody(mesh, material=material, damping=(0.5, 0.004), name="sheet")
    return _world([sheet], [ct.Plane(), ct.MeshShape(bunny)], touching)


def _world(bodies: Sequence[ct.SoftBody], shapes: Sequence, touching: bool) -> ct.World:
    if touching:
        return ct.World(bodies, colliders=shapes, dt=0.01)
    pairs = {(a.name, b.name): {"collide": False} for a in bodies for b in bodies}
    return ct.World(bodies, dt=0.01, contact=ct.Contact(self_contact=False, pairs=pairs))


class _Clock:
    """Adds up the time that searches take."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._plain = {name: getattr(SurfaceContacts, name) for name in ("find_close", "find_crossings")}
        for name, plain in self._plain.items():
            setattr(SurfaceContacts, name, self._timed(plain))

    def _timed(self, plain: Callable) -> Callable:
        def call(*args: object, **options: object) -> object:
            start = time.perf_counter()
            try:
                return plain(*args, **options)
            finally:
                self.seconds += time.perf_counter() - start

        return call

    def stop(self) -> None:
        for name, plain in self._plain.items():
            setattr(SurfaceContacts, name, plain)


def _run(make: Callable[[bool], ct.World], calm: int) -> dict[str, object]:
    free = make(False)
    for _ in range(3):
        free.step()
    alone = []
    for _ in range(TIMED):
        start = time.perf_counter()
        free.step()
        alone.append(time.perf_counter() - start)
    world = make(True)
    for _ in range(calm):
        world.step()
    clock, times, contacts, solves, parts, depths = _Clock(), [], [], [], [], []
    for _ in range(TIMED):
        start = time.perf_counter()
        reports = world.step()
        times.append(time.perf_counter() - start)
        contacts.append(sum(report.contacts for report in reports))
        solves.append(max(report.iterations for report in reports))
        parts.append(max(report.substeps for report in reports))
        depths.append(max(report.max_penetration for report in reports))
    clock.stop()
    step = statistics.mean(times)
    return {
        "nodes": sum(body.node_count for body in world.bodies),
        "triangles": sum(len(body.triangles) for body in world.bodies),
        "steps/s": 1.0 / step,
        "contacts": statistics.mean(contacts),
        "iterations": statistics.mean(solves),
        "parts": statistics.mean(parts),
        "ms a step": 1e3 * step,
        "ms of search": 1e3 * clock.seconds / TIMED,
        "share of search": clock.seconds / TIMED / step,
        "ms without contact": 1e3 * statistics.mean(alone),
        "share of contact": 1.0 - statistics.mean(alone) / step,
        "deepest overlap [mm]": 1e3 * max(depths),
    }


def _rigid() -> dict[str, object]:
    """Return the figures of the rigid bodies on poles; all but their free flight is contact."""
    told = rigid_pile.ours("poles")
    return {
        "steps/s": 1e3 / told["ms a step"],
        "contacts": told["contacts"],
        "ms a step": told["ms a step"],
        "deepest overlap [mm]": told["deepest overlap [mm]"],
    }


def main(threads: int | None = None) -> Result:
    """Step all scenes and tell where the time goes."""
    ct.set_threads(threads if threads is not None else 2)
    rows = [
        {"scene": f"{TORI} tori in a pile", **_run(_pile, CALM)},
        {"scene": "sheet over the bunny", **_run(_sheet, CALM)},
    ]
    ratio = min(float(str(row["ms a step"])) / float(str(row["ms of search"])) for row in rows)
    rows.append({"scene": "800 rigid bodies on 64 poles", **_rigid()})
    return Result(
        "Bodies in contact, dt = 10 ms",
        rows,
        ratio,
        notes=[
            "ratio: time of a step over the time it takes to find contacts, the smaller of both soft scenes",
            f"finding contacts (trees, all pairs, both looks) takes {100.0 / ratio:.0f} % of a step at most, and no "
            "other broad phase can save more; drawing along rays (G40-G43) took as long as all of it and left 41 to "
            "89 % of the triangles, so it is left out (docs/theory/collision.md)",
        ],
    )
