"""Splitting along faces: fans of elements get their own nodes, pieces are found, cracks may end inside."""

import numpy as np
import pytest

from continua import mesh
from continua.errors import InputError


def centers(m):
    return m.points[m.cells].mean(axis=1)


def make(kind):
    return {
        "tets": lambda: mesh.box(cells=(4, 3, 2)),
        "sphere": lambda: mesh.sphere(0.5, 3).transformed(translate=(0.5, 0.5, 0.5)),
        "hexes": lambda: mesh.hex_box(cells=(4, 3, 2)),
        "quads": lambda: mesh.rectangle(cells=(4, 3), thickness=0.2),
        "triangles": lambda: mesh.rectangle(cells=(4, 3), kind="triangles", thickness=0.2),
    }[kind]()


def fans(m, cut):
    """Return the number of groups of elements around each node that uncut faces connect, by brute force."""
    cut, result = set(cut.tolist()), np.zeros(m.node_count, int)
    for node in range(m.node_count):
        around = {e for e in range(m.element_count) if node in m.cells[e]}
        faces = [
            set(pair)
            for number, (face, pair) in enumerate(
                zip(m.faces.tolist(), m.face_elements.tolist(), strict=True)
            )
            if node in face and number not in cut and pair[1] >= 0
        ]
        while around:
            group = {around.pop()}
            while more := {e for pair in faces if pair & group for e in pair} - group:
                group |= more
            around -= group
            result[node] += 1
    return result


@pytest.mark.parametrize("kind", ["tets", "sphere", "hexes", "quads", "triangles"])
def test_a_plane_cut_makes_two_pieces(kind):
    m = make(kind)
    left = centers(m)[:, 0] < 0.55
    cut = mesh.faces_between(m, left)
    change = mesh.split_faces(m, cut)
    new = change.mesh
    change.check()
    assert type(new) is type(m)
    np.testing.assert_array_equal(mesh.connected_pieces(new), (left != left[0]).astype(int))
    np.testing.assert_array_equal(new.volumes, m.volumes)
    np.testing.assert_array_equal(new.points, m.points[change.node_parents[:, 0]])
    np.testing.assert_array_equal(new.points[new.cells], m.points[m.cells])  # elements stay where they are
    assert len(new.boundary_faces) == len(m.boundary_faces) + 2 * len(cut)
    assert new.node_count - m.node_count == len(np.unique(m.faces[cut]))


@pytest.mark.parametrize("kind", ["tets", "hexes", "triangles"])
@pytest.mark.parametrize("seed", [0, 1])
def test_copies_are_the_fans_of_every_node(kind, seed):
    m = make(kind)
    inner = np.flatnonzero(m.face_elements[:, 1] >= 0)
    cut = np.random.default_rng(seed).choice(inner, len(inner) // 3, replace=False)
    new = mesh.split_faces(m, cut)
    copies = np.bincount(new.node_parents[:, 0], minlength=m.node_count)
    np.testing.assert_array_equal(copies, fans(m, cut))


def test_all_faces_cut_leave_single_elements():
    m = make("tets")
    new = mesh.split_faces(m, np.flatnonzero(m.face_elements[:, 1] >= 0)).mesh
    assert new.node_count == 4 * m.element_count
    np.testing.assert_array_equal(mesh.connected_pieces(new), np.arange(m.element_count))


def test_a_crack_that_ends_inside_keeps_its_front():
    m = mesh.hex_box(cells=(4, 4, 1))
    cut = mesh.faces_between(m, centers(m)[:, 1] < 0.5)
    cut = cut[m.points[m.faces[cut]].mean(axis=1)[:, 0] < 0.5]  # half of the way through
    change = mesh.split_faces(m, cut)
    copied = m.points[change.node_parents[m.node_count :, 0]]
    np.testing.assert_array_equal(
        np.unique(copied[:, 0]), [0.0, 0.25]
    )  # nodes of the front at x = 0.5 are not
    assert not mesh.connected_pieces(change.mesh).any()
    assert len(change.mesh.boundary_faces) == len(m.boundary_faces) + 2 * len(cut)


def test_elements_that_share_a_node_only_stay_attached():
    """Two groups of tets that touch in one node are not pulled apart by a cut elsewhere."""
    one = mesh.box(cells=(2, 1, 1))
    two = one.transformed(translate=(1.0, 1.0, 1.0))
    a = int(np.flatnonzero((one.points == 1.0).all(axis=1))[0])
    b = int(np.flatnonzero((two.points == 1.0).all(axis=1))[0])
    numbers = np.arange(two.node_count) + one.node_count
    numbers[b + 1 :] -= 1
    numbers[b] = a
    m = mesh.TetMesh(
        np.concatenate([one.points, np.delete(two.points, b, axis=0)]),
        np.concatenate([one.tets, numbers[two.tets]]),
    )
    assert not mesh.connected_pieces(m).any()
    change = mesh.split_faces(m, mesh.faces_between(m, centers(m)[:, 0] < 0.5))
    assert a not in change.node_parents[m.node_count :]
    assert mesh.connected_pieces(change.mesh).max() == 1


def test_bad_faces_are_refused():
    m = make("tets")
    outer = np.flatnonzero(m.face_elements[:, 1] < 0)
    with pytest.raises(InputError, match="lie on the boundary"):
        mesh.split_faces(m, outer[:2])
    with pytest.raises(InputError, match="no faces are chosen"):
        mesh.split_faces(m, [])
    with pytest.raises(InputError, match="whole numbers from 0"):
        mesh.split_faces(m, [len(m.faces)])
    middle = mesh.box(cells=(6, 6, 6))
    inner = np.flatnonzero(middle.face_elements[:, 1] >= 0)
    deep = inner[~np.isin(middle.faces[inner], middle.boundary_faces).any(axis=1)]
    with pytest.raises(InputError, match="do not open the mesh"):
        mesh.split_faces(middle, deep[:1])
