"""Multigrid takes aggregates and eigenvectors from earlier matrices: they are part of a body's state."""

import numpy as np
import pytest

import continua as ct


def make(solver):
    """A body of an unstructured mesh, which gets levels of groups, with stiff and soft parts."""
    mesh = ct.mesh.sphere(0.5, 5)
    rng = np.random.default_rng(3)
    points = mesh.points + 0.01 * rng.normal(size=mesh.points.shape)
    body = ct.SoftBody(
        ct.TetMesh(points, mesh.cells), material=ct.StableNeoHookean(young=1e5), solver=solver, name="ball"
    )
    body.pin(where=lambda x: x[:, 1] < -0.3)
    body.push(where=lambda x: x[:, 1] > 0.3, force=(300.0, -500.0, 0.0))
    return ct.World([body], dt=0.02)


def same(one, two):
    return one.keys() == two.keys() and all(np.array_equal(one[key], two[key]) for key in one)


@pytest.mark.parametrize("smoother", ["gauss-seidel", "jacobi", "chebyshev"])
def test_a_restored_body_continues_bitwise_identically(smoother):
    def solver():
        return ct.Multigrid(smoother=smoother, coarsest=20)

    world = make(solver())
    for _ in range(3):
        world.step()
    state = world.state()
    assert len(state["ball/multigrid_aggregates"]) > 100  # the mesh has no geometric levels
    other = make(solver())
    other.restore(state)
    assert same(other.state(), state)
    for _ in range(3):
        world.step()
        other.step()
    end = world.state()
    assert same(other.state(), end)
    world.restore(state)  # a world that went on can go back
    for _ in range(3):
        world.step()
    assert same(world.state(), end)


def test_a_reset_body_repeats_its_run_bitwise():
    world = make(ct.Multigrid(coarsest=20))
    for _ in range(3):
        world.step()
    first = world.state()
    world.reset()
    for _ in range(3):
        world.step()
    assert same(world.state(), first)
