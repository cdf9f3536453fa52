import numpy as np
import pytest

import continua as ct
from continua.studio.encoding.clip_plane import Cut
from continua.studio.interaction.drag_spring import face_under


def enclosed(body, triangles):
    """Return the volume inside closed, outward triangles at rest, by the divergence theorem."""
    a, b, c = (body.rest_positions[triangles[:, i]] for i in range(3))
    return np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0


@pytest.mark.parametrize("make", [ct.mesh.box, ct.mesh.hex_box])
@pytest.mark.parametrize(("axis", "flip"), [(0, False), (0, True), (1, False), (2, True)])
def test_whole_elements_on_one_side_enclose_their_volume(make, axis, flip):
    body = ct.SoftBody(make((4.0, 2.0, 2.0), (4, 2, 2)), name="bar")
    frame = ct.World([body]).frame()
    place = 0.5 if axis else 0.25
    cut = Cut(axis, place, flip)
    height = cut.height(frame)
    assert height == pytest.approx(1.0)
    kept = (1 - place if flip else place) * 16.0
    assert enclosed(frame["bar"], cut.triangles(frame["bar"], height)) == pytest.approx(kept)


def test_nothing_and_everything():
    frame = ct.World([ct.SoftBody(ct.mesh.box(), name="bar")]).frame()
    body = frame["bar"]
    assert len(Cut(0, 0.0).triangles(body, -1.0)) == 0
    whole = Cut(0, 1.0).triangles(body, 2.0)
    assert {tuple(sorted(t)) for t in whole.tolist()} == {tuple(sorted(t)) for t in body.triangles.tolist()}


@pytest.mark.parametrize(
    ("make", "order"), [(ct.mesh.box, 1), (ct.mesh.box, 2), (ct.mesh.box, 3), (ct.mesh.hex_box, 1)]
)
def test_a_triangle_belongs_to_the_face_that_it_lies_on(make, order):
    body = ct.SoftBody(make((1, 1, 1), (2, 2, 2)), order=order)
    for triangle in range(len(body.triangles)):
        middle = body.rest_positions[body.triangles[triangle]].mean(axis=0)
        face = body.mesh.points[body.mesh.boundary_faces[face_under(body, triangle)]]
        normal = np.cross(face[1] - face[0], face[2] - face[0])
        assert np.dot(middle - face[0], normal) == pytest.approx(0.0, abs=1e-12)
        assert (middle >= face.min(axis=0) - 1e-12).all()
        assert (middle <= face.max(axis=0) + 1e-12).all()
