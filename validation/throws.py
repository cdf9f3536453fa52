"""A thousand throws at up to 50 m/s at thin and moving obstacles: no tunnelling, and no node ends inside.

Soft balls, blocks and single tetrahedra fly at a plate of 1 mm, a rod of 5 mm, a ball, the sharp edges of a box and a
wall that moves towards them, in steps of 20 ms. Printed are the largest penetration of a node at the end of a step,
relative to the contact thickness, and the number of nodes that passed through the plate.

Run: python -m validation.throws [THROWS]
"""

from __future__ import annotations

import sys
from time import perf_counter
from typing import NamedTuple

import numpy as np

import continua as ct

BATCH = 50
DT, STEPS = 0.02, 6


def obstacles() -> list[ct.contact.Shape]:
    """Return the obstacles: all are above a plate of 1 mm that closes the space below."""
    return [
        ct.Box(center=(0, -0.5, 0), size=(400.0, 0.001, 400.0)),
        ct.Sphere(center=(0, 5.5, 0), radius=0.8),
        ct.Capsule(start=(-5, 5, 2.5), end=(5, 5, 2.5), radius=0.0025),
        ct.Box(center=(3.0, 5.2, -2.5), size=(1.0, 0.4, 1.0)),
        ct.Plane(point=(-9, 0, 0), normal=(1, 0, 0), motion=ct.Motion.translate((5.0, 0, 0))),
    ]


def projectiles(rng: np.random.Generator) -> list[ct.SoftBody]:
    """Return a batch of separate bodies, each with a velocity."""
    forms = [
        ct.mesh.box((0.12, 0.12, 0.12), (1, 1, 1)),
        ct.mesh.sphere(0.08, 2),
        ct.mesh.box((0.3, 0.02, 0.2), (3, 1, 2)),
        ct.TetMesh(0.1 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]]), np.array([[0, 1, 2, 3]])),
    ]
    cells = np.stack(np.meshgrid(np.arange(10), np.arange(4), np.arange(10), indexing="ij"), -1)
    places = rng.permutation(cells.reshape(-1, 3))[:BATCH] * [0.9, 0.9, 0.9] + [-4.0, 0.0, -4.0]
    bodies = []
    for k, at in enumerate(places):
        mesh = forms[k % len(forms)]
        mesh = mesh.transformed(translate=-mesh.points.mean(axis=0)).transformed(rotate=rng.normal(size=3))
        young = 10.0 ** rng.uniform(4, 7)
        body = ct.SoftBody(mesh.transformed(translate=at), material=ct.Corotated(young=young), name=f"b{k}")
        direction = rng.normal(size=3)
        body.set_velocity(50.0 * rng.random() * direction / np.linalg.norm(direction), rng.normal(size=3))
        bodies.append(body)
    return bodies


class Outcome(NamedTuple):
    """The outcome of a batch.

    Attributes:
        touched: Bodies in contact, summed over all steps.
        depth: Largest penetration of a node at the end of a step, relative to the thickness.
        through: Nodes below the plate, and edges that end inside another surface.
        substeps: Largest number of substeps of a step.
    """

    touched: int
    depth: float
    through: int
    substeps: int


def throw(batch: int) -> Outcome:
    """Throw a batch of bodies and return the outcome."""
    bodies, shapes = projectiles(np.random.default_rng(batch)), obstacles()
    world = ct.World(bodies, colliders=shapes, dt=DT, contact=ct.Contact(friction=0.3))
    surfaces = world.system(ct.SoftBody).stepper.surface_contacts
    thickness = surfaces.min_distance.max(axis=1)
    touched = through = substeps = 0
    worst = 0.0
    for _ in range(STEPS):
        reports = world.step()
        touched += sum(report.contacts > 0 for report in reports)
        substeps = max(substeps, max(report.substeps for report in reports))
        for k, body in enumerate(bodies):
            nodes = body.positions[body.contact_nodes]
            depth = max(-float(shape.distances_at(nodes, world.time, 0.0)[0].min()) for shape in shapes)
            worst = max(worst, depth / thickness[k])
            through += int((nodes[:, 1] < -0.5).sum())
    through += surfaces.intersection_count([body.contact_body().positions for body in bodies], world.time)
    return Outcome(touched, worst, through, substeps)


def main() -> int:
    """Throw and print the outcome; return 1 if a node was deeper than the thickness or went through."""
    throws = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    start = perf_counter()
    outcomes = [throw(batch) for batch in range(-(-throws // BATCH))]
    depth, through = max(one.depth for one in outcomes), sum(one.through for one in outcomes)
    touched = sum(one.touched for one in outcomes)
    print(
        f"{throws} throws in {perf_counter() - start:.0f} s, {touched} bodies in contact, summed over steps"
    )
    print(
        f"largest penetration: {depth:.2g} of the thickness; through: {through}; "
        f"most substeps of a step: {max(one.substeps for one in outcomes)}"
    )
    return int(depth > 1.0 or through > 0)


if __name__ == "__main__":
    sys.exit(main())
