"""Bodies of the linear law keep their matrix, and what the solver made of it, until something changes."""

from dataclasses import dataclass

import numpy as np
import pytest

import continua as ct


@dataclass(frozen=True)
class Reassembled(ct.Linear):
    """The linear law without the promise that its stiffness stays: the matrix is made anew at every step."""

    constant_stiffness = False


class Counting(ct.PCG):
    """Counts how often it is told a matrix."""

    def __init__(self):
        super().__init__(rtol=1e-12)
        self.updates = 0

    def update(self, *args):
        self.updates += 1
        super().update(*args)


MESHES = {
    "tets": (ct.mesh.box((1.0, 0.2, 0.2), (5, 2, 2)), 1),
    "quadratic tets": (ct.mesh.box((1.0, 0.2, 0.2), (4, 1, 1)), 2),
    "hexahedra": (ct.mesh.hex_box((1.0, 0.2, 0.2), (5, 2, 2)), 1),
}


def make_beam(law, mesh="tets", solver=None, **options):
    shape, order = MESHES[mesh]
    material = law(young=1e5, poisson=0.3, density=1000.0)
    beam = ct.SoftBody(shape, material=material, order=order, solver=solver or Counting(), **options)
    beam.held = beam.pin(lambda x: x[:, 0] < 1e-9)
    return beam


def change(body, world, step):
    """Change something at some steps."""
    if step == 6:
        body.set_material(young=3e5)
    elif step == 9:
        body.held.remove()
        body.held = body.pin(lambda x: x[:, 0] > 1.0 - 1e-9)
    elif step == 12:
        body.hand = body.pull(point=(0.43, 0.13, 0.08), stiffness=300.0, target=(0.5, 0.4, 0.1))
    elif step == 15:
        body.hand.target = (0.5, 0.5, 0.5)
    elif step == 18:
        body.hand.remove()
        body.set_material(damping=(0.5, 0.01))
    elif step == 21:
        body.set_material(density=500.0)
    elif step == 24:
        body.lock(lambda x: x[:, 0] < 1e-9, direction=(0.0, 1.0, 0.0))


@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("integrator", ["implicit_euler", "newmark", "semi_implicit", "explicit"])
def test_the_kept_matrix_moves_bodies_like_one_made_anew_through_all_changes(integrator, mesh):
    ends = []
    for law in (ct.Linear, Reassembled):
        body = make_beam(law, mesh, integrator=integrator)
        world = ct.World([body], dt=0.002)
        path = []
        for step in range(30):
            change(body, world, step)
            world.step(dt=0.001 if step >= 27 else None)
            path.append(body.positions)
        ends.append(np.array(path))
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-8)


def test_the_solver_hears_of_a_matrix_only_when_something_changed():
    body = make_beam(ct.Linear)
    world = ct.World([body], dt=0.002)
    heard = []
    for step in range(30):
        change(body, world, step)
        before = body.solver.updates
        world.step(dt=0.001 if step >= 27 else None)
        if body.solver.updates > before:
            heard.append(step)
    assert heard == [0, 6, 9, 12, 18, 21, 24, 27]  # a new target of the pull (15) is no new matrix
    body.settle()
    world.step(dt=0.001)
    before = body.solver.updates
    world.step(dt=0.001)
    assert body.solver.updates == before


def test_a_settled_body_goes_on_with_the_matrix_of_its_steps():
    paths = []
    for law in (ct.Linear, Reassembled):
        body = make_beam(law)
        world = ct.World([body], dt=0.002)
        for _ in range(3):
            world.step()
        body.settle()
        body.held.remove()
        body.pin(lambda x: x[:, 0] < 1e-9)
        for _ in range(5):
            body.push(lambda x: x[:, 0] > 0.9, force=(0.0, 5.0, 0.0))
            world.step()
        paths.append(body.positions)
    np.testing.assert_allclose(paths[0], paths[1], atol=1e-9)


def test_contacts_come_and_go():
    paths, heard = [], []
    for law in (ct.Linear, Reassembled):
        body = ct.SoftBody(
            ct.mesh.box((0.2, 0.2, 0.2), (2, 2, 2)), material=law(young=1e5), solver=Counting()
        )
        ground = ct.Plane(point=(0.0, -0.01, 0.0), normal=(0.0, 1.0, 0.0))
        world = ct.World([body], colliders=[ground], dt=0.005)
        counts = []
        for _ in range(60):
            before = body.solver.updates
            report = world.step()[0]
            counts.append((report.contacts > 0, body.solver.updates > before))
        paths.append(body.positions)
        heard.append(counts)
    np.testing.assert_allclose(paths[0], paths[1], atol=1e-7)
    touching, told = np.array(heard[0]).T
    assert touching.any()
    assert not told[1 : touching.argmax() + 1].any()  # contact leaves the matrix of the body as it is


def test_a_direct_solver_factorises_once_and_again_after_a_change():
    body = make_beam(ct.Linear, solver=ct.Direct())
    world = ct.World([body], dt=0.002)
    for _ in range(5):
        world.step()
    assert body.solver.factorisations == 1
    body.set_material(young=2e5)
    for _ in range(5):
        world.step()
    assert body.solver.factorisations == 2


def test_inverted_elements_are_counted_in_steps_that_keep_the_matrix():
    counts = []
    for law in (ct.Linear, Reassembled):
        body = make_beam(law)
        world = ct.World([body], dt=0.01)
        body.pull(point=(1.0, 0.13, 0.08), stiffness=1e6, target=(-1.0, 0.1, 0.1))
        counts.append([world.step()[0].inverted for _ in range(10)])
    assert counts[0] == counts[1]
    assert max(counts[0]) > 0
