"""Compliance of a small body from its factored matrix, against the dense inverse."""

from types import SimpleNamespace

import numpy as np
import pytest

import continua as ct
from continua.contact_solver.delassus import compliance_of_arrays
from continua.contact_solver.factored_compliance import FactoredCompliance
from continua.contact_solver.node_compliance import Deformation


def state(cells=(3, 2, 4), turn=(0.0, 0.0, 0.0), fixed=0, young=1e6):
    """Return the system of one step of a box, its deformation, and its dense inverse."""
    mesh = ct.mesh.box(size=(0.3, 0.2, 0.4), cells=cells)
    body = ct.SoftBody(mesh, material=ct.Corotated(young=young), name="box")
    rest = body.rest_positions.copy()
    body._x[:] = ct.TetMesh(rest, mesh.tets).transformed(rotate=turn).points
    ct.World([body], dt=0.01).step()
    matrix = body._stepper.matrix
    n = matrix.pattern.node_count
    mask = np.zeros(n, np.uint8)
    mask[:fixed] = 1
    system = SimpleNamespace(matrix=matrix, fixed=mask, projections=None, rhs=np.zeros((n, 3)))
    free = np.flatnonzero(np.repeat(mask == 0, 3))
    inverse = np.zeros((3 * n, 3 * n))
    inverse[np.ix_(free, free)] = np.linalg.inv(matrix.to_scipy().toarray()[np.ix_(free, free)])
    return system, Deformation(rest, body.positions, matrix.pattern), inverse


def block(inverse, nodes):
    rows = (3 * np.asarray(nodes)[:, None] + np.arange(3)).ravel()
    return inverse[np.ix_(rows, rows)]


@pytest.mark.parametrize("cells", [(1, 1, 1), (3, 2, 4), (2, 2, 2)])
@pytest.mark.parametrize("fixed", [0, 5])
def test_responses_are_those_of_the_inverse(cells, fixed):
    """For an even and an odd number of nodes, and nodes that are added later."""
    system, deformation, inverse = state(cells, fixed=fixed)
    compliance = FactoredCompliance.of(system, deformation)
    for nodes in ([1, 7], [0, 1, 6, 7]):
        compliance, _ = compliance.with_nodes(system, np.array(nodes), deformation)
        found = compliance.matrix(deformation, np.array(nodes))
        np.testing.assert_allclose(found, block(inverse, nodes), atol=1e-12 * np.abs(inverse).max())


def test_responses_turn_with_the_body():
    """A matrix that was factored at rest gives those of the body after a rotation."""
    system, deformation, _ = state()
    nodes = np.array([0, 3, 10, 40])
    compliance, _ = FactoredCompliance.of(system, deformation).with_nodes(system, nodes, deformation)
    _, turned, inverse = state(turn=(0.4, -1.1, 0.7))
    found = compliance.matrix(turned, nodes)
    expected = block(inverse, nodes)
    np.testing.assert_allclose(found, expected, atol=2e-3 * np.abs(expected).max())


def test_any_choice_of_nodes_is_positive_definite_in_any_state():
    """Also for a matrix that no longer fits, with nodes added one by one."""
    system, deformation, _ = state(young=1e8)
    bent = Deformation(
        deformation.rest,
        deformation.rest + 0.3 * np.sin(9.0 * deformation.rest[:, [1, 2, 0]]),
        deformation.pattern,
    )
    compliance = FactoredCompliance.of(system, deformation)
    rng = np.random.default_rng(0)
    nodes = np.zeros(0, np.int64)
    for _ in range(12):
        nodes = np.union1d(nodes, rng.integers(0, len(system.rhs), 3))
        compliance, _ = compliance.with_nodes(system, nodes, bent)
        values = np.linalg.eigvalsh(compliance.matrix(bent, nodes))
        assert values[0] > 0.0


def test_it_is_made_again_when_the_body_has_changed():
    system, deformation, _ = state()
    nodes = np.array([2, 9])
    old, _ = FactoredCompliance.of(system, deformation).with_nodes(system, nodes, deformation)
    same, _ = old.aged().with_nodes(system, nodes, deformation)
    assert same.age == 1
    stiffer, _, other = state(young=4e6)
    new, _ = old.with_nodes(stiffer, nodes, deformation)
    assert new.age == 0
    np.testing.assert_allclose(new.matrix(deformation, nodes), block(other, nodes), rtol=1e-6, atol=1e-9)
    system.fixed[:4] = 1
    held, _ = old.with_nodes(system, nodes, deformation)
    assert (held.matrix(deformation, nodes)[:3] == 0.0).all()


def test_a_checkpoint_gives_the_same_bits():
    system, deformation, _ = state(fixed=3)
    nodes = np.array([5, 8, 30])
    compliance, _ = FactoredCompliance.of(system, deformation).with_nodes(system, nodes[:2], deformation)
    compliance = compliance.aged(True)
    again = compliance_of_arrays(compliance.arrays())
    assert isinstance(again, FactoredCompliance)
    assert (again.age, again.is_inaccurate) == (1, True)
    one, _ = compliance.with_nodes(system, nodes, deformation)
    other, _ = again.with_nodes(system, nodes, deformation)
    assert (one.matrix(deformation, nodes) == other.matrix(deformation, nodes)).all()


def test_large_bodies_are_not_factored():
    system, deformation, _ = state(cells=(1, 1, 1))
    system.projections = np.zeros((8, 9))
    assert FactoredCompliance.of(system, deformation) is None
