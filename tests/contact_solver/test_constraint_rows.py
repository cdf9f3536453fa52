"""Constraint rows: relative velocities of the two sides, and the transpose that applies impulses to both."""

import numpy as np
import pytest

import continua as ct
from continua.contact_solver import ConstraintRows, Contact, ContactPairTable, contact_rows, join_rows


def _unit(rng, count):
    n = rng.normal(size=(count, 3))
    return n / np.linalg.norm(n, axis=1, keepdims=True)


def _mixed(rng, count=50) -> tuple[ConstraintRows, dict]:
    """Contacts of three soft nodes (rows 0..9) on side a against a rigid body (rows 10, 11) on side b."""
    normals, points = _unit(rng, count), rng.normal(size=(count, 3))
    weights = rng.dirichlet(np.ones(3), size=count)
    soft = np.array([rng.permutation(10)[:3] for _ in range(count)])
    center = np.array([0.3, -0.2, 0.5])
    rows = contact_rows(
        normals, points, rng.normal(size=count), soft_rows=soft, soft_weights=weights,
        rigid_rows=np.full((count, 1), 10), rigid_signs=-1.0, rigid_centers=np.tile(center, (count, 1, 1)),
        friction=0.3, key=np.arange(count),
    )  # fmt: skip
    return rows, {"soft": soft, "weights": weights, "points": points, "center": center}


def test_relative_velocity_is_that_of_the_two_sides():
    rng = np.random.default_rng(1)
    rows, made = _mixed(rng)
    V = rng.normal(size=(12, 3))
    side_a = np.einsum("ck,cki->ci", made["weights"], V[made["soft"]])
    side_b = V[10] + np.cross(V[11], made["points"] - made["center"])
    world = np.einsum("cij,ci->cj", rows.frame.reshape(-1, 3, 3), rows.relative_velocities(V))
    np.testing.assert_allclose(world, side_a - side_b, atol=1e-13)


def test_frames_are_right_handed_and_begin_with_the_normal():
    rng = np.random.default_rng(2)
    normals = np.vstack([_unit(rng, 200), np.eye(3), -np.eye(3), [[1e-12, 0, -1.0]]])
    frames = contact_rows(normals, normals, np.zeros(len(normals))).frame.reshape(-1, 3, 3)
    np.testing.assert_allclose(
        frames @ frames.swapaxes(1, 2), np.broadcast_to(np.eye(3), frames.shape), atol=1e-12
    )
    np.testing.assert_allclose(np.linalg.det(frames), 1.0, atol=1e-12)
    np.testing.assert_array_equal(frames[:, 0], normals)


def test_apply_transpose_is_the_transpose_and_action_is_reaction():
    rng = np.random.default_rng(3)
    rows, _ = _mixed(rng)
    impulse, V = rng.normal(size=(len(rows), 3)), rng.normal(size=(12, 3))
    out = np.zeros((12, 3))
    rows.apply_transpose(impulse, out)
    assert np.vdot(out, V) == pytest.approx(np.vdot(impulse, rows.relative_velocities(V)), rel=1e-12)
    np.testing.assert_allclose(out[:10].sum(axis=0), -out[10], atol=1e-12)


def test_the_velocity_of_a_collider_is_in_the_offset():
    rows = contact_rows(
        np.array([[0.0, 1.0, 0.0]]), np.zeros((1, 3)), np.zeros(1), soft_rows=np.array([[2]]),
        surface_velocity=np.array([[1.0, 2.0, 3.0]]),
    )  # fmt: skip
    V = np.zeros((3, 3))
    V[2] = 1.0, 2.0, 3.0
    np.testing.assert_allclose(rows.relative_velocities(V), 0.0, atol=1e-15)
    assert rows.relative_velocities(0.0 * V)[0, 0] == -2.0


def test_joining_and_taking_keep_contacts_whole():
    rng = np.random.default_rng(4)
    first, _ = _mixed(rng, 5)
    second = contact_rows(_unit(rng, 4), np.zeros((4, 3)), np.zeros(4), soft_rows=np.arange(4)[:, None])
    both = join_rows([first, second])
    V = rng.normal(size=(12, 3))
    np.testing.assert_array_equal(
        both.relative_velocities(V), np.vstack([first.relative_velocities(V), second.relative_velocities(V)])
    )
    some = np.array([7, 1, 5])
    np.testing.assert_array_equal(both.take(some).relative_velocities(V), both.relative_velocities(V)[some])
    assert len(join_rows([])) == 0


def test_pair_options_override_own_values_and_these_the_defaults():
    participants = [ct.Plane(friction=0.4), object(), ct.Plane(friction=0.9)]
    contact = Contact(friction=0.2, restitution=0.1, pairs={("a", "b"): {"friction": 0.7, "collide": False}})
    table = ContactPairTable.of(contact, ["a", "b", "c"], participants)
    assert table.friction[0, 1] == table.friction[1, 0] == 0.7
    assert table.friction[1, 2] == 0.9
    assert table.friction[0, 2] == pytest.approx(0.6)
    assert table.friction[1, 1] == 0.2
    assert not table.collide[0, 1]
    assert table.collide[0, 2]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"friction": -1.0}, "friction of contact must be"),
        ({"restitution": 1.5}, "from 0 to 1"),
        ({"thickness": 0.0}, "greater than 0 m"),
        ({"pairs": {("a", "b"): {"stiffness": 1.0}}}, "not 'stiffness'"),
        ({"pairs": {"ab": {}}}, "tuple of two names"),
    ],
)
def test_bad_options_are_refused(options, sentence):
    with pytest.raises(ct.InputError, match=sentence):
        Contact(**options)


def test_a_pair_of_unknown_names_is_refused():
    with pytest.raises(ct.InputError, match="no body or collider has that name"):
        ContactPairTable.of(Contact(pairs={("a", "x"): {}}), ["a"], [object()])
