"""Piles of rigid bodies: bitwise identical for any number of threads and after a restart; friction only dissipates."""

import numpy as np
import pytest

import continua as ct
from continua.mesh import surfaces
from continua.numerics import get_threads, set_threads

pytestmark = pytest.mark.filterwarnings("ignore:.*more pairs overlap")  # at random places


def _pile(restitution=0.0):
    """Return a world of boxes, balls, cylinders and rings that fall into a bowl on each other."""
    rng = np.random.default_rng(4)

    def places(k, height):
        return (
            rng.uniform(-0.25, 0.25, (k, 3)) + [0.0, height, 0.0] + 0.12 * np.arange(k)[:, None] * [0, 1, 0]
        )

    options = {"density": 1000.0, "restitution": restitution}
    bodies = [
        ct.RigidInstances(
            ct.Box(size=(0.12, 0.1, 0.14)), places(8, 0.4), rotations=rng.normal(size=(8, 3)), name="boxes", **options
        ),
        ct.RigidInstances(ct.Sphere(radius=0.06), places(8, 0.5), name="balls", **options),
        ct.RigidInstances(
            ct.Cylinder(radius=0.05, height=0.15), places(6, 0.6), rotations=rng.normal(size=(6, 3)),
            name="tins", **options,
        ),
        ct.RigidInstances(
            surfaces.torus(0.07, 0.025, (8, 16)), places(18, 0.7), rotations=rng.normal(size=(18, 3)), name="rings",
            **options,
        ),
    ]  # fmt: skip
    bowl = ct.mesh.bowl(0.6, 0.1, 90.0, (6, 1)).transformed(translate=(0.0, 0.55, 0.0))
    return ct.World(bodies, colliders=[ct.MeshShape(bowl), ct.Plane()])


def _bits(world):
    return b"".join(array.tobytes() for body in world.bodies for array in body.state().values())


def test_a_pile_is_bitwise_identical_for_any_number_of_threads():
    before = get_threads()
    results = []
    try:
        for threads in (1, 2):
            set_threads(threads)
            world = _pile()
            for _ in range(35):
                world.step(0.01)
            assert len(world.system(ct.RigidBody).rigid.contacts) > 50
            results.append(_bits(world))
    finally:
        set_threads(before)
    assert results[0] == results[1]


def test_a_pile_restarts_bitwise_identical_from_its_checkpoint():
    whole = _pile(0.3)
    for _ in range(20):
        whole.step(0.01)
    state = whole.state()
    for _ in range(20):
        whole.step(0.01)
    again = _pile(0.3)
    again.restore(state)
    for _ in range(20):
        again.step(0.01)
    assert _bits(again) == _bits(whole)


@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_contact_and_friction_never_add_energy(restitution):
    world = _pile(restitution)
    total = [sum(world.energy().values())]
    for _ in range(60):
        world.step(0.01)
        total.append(sum(world.energy().values()))
    mass = sum(body.mass_total for body in world.bodies)
    # a fall of a millimetre of everything is what shifts out of overlaps may lift
    assert np.diff(total).max() < 1e-3 * mass * 9.81 + 1e-9
    assert total[-1] < total[0]


def test_a_pile_of_boxes_and_balls_in_a_container_comes_to_rest():
    rng = np.random.default_rng(0)
    places = np.stack(np.meshgrid([0, 1], [0, 1, 2, 3], [0, 1], indexing="ij"), -1).reshape(-1, 3) * 0.25
    places = places + rng.uniform(-0.02, 0.02, places.shape) + [-0.12, 0.12, -0.12]
    boxes = ct.RigidInstances(ct.Box(size=(0.2, 0.2, 0.2)), places[::2], density=1000.0, name="boxes")
    balls = ct.RigidInstances(ct.Sphere(radius=0.1), places[1::2], density=1000.0, name="balls")
    room = ct.Box(center=(0.0, 1.0, 0.0), size=(0.7, 2.0, 0.7), inside=True)
    world = ct.World([boxes, balls], colliders=[room])
    for _ in range(400):
        world.step(0.01)
    scale = 9.81 * 0.5 * sum(body.mass_total for body in world.bodies)
    worst = 0.0
    for _ in range(100):
        world.step(0.01)
        worst = max(worst, sum(body.energy()["kinetic"] for body in world.bodies))
    assert worst < 1e-6 * scale
