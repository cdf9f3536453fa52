import numpy as np
import pytest

import continua as ct
from continua.studio.encoding.clip_plane import ClipPlane
from continua.studio.interaction.drag_spring import face_of_triangle


def enclosed(body, triangles):
    """Return the volume inside closed, outward triangles at rest, by the divergence theorem."""
    a, b, c = (body.rest_positions[triangles[:, i]] for i in range(3))
    return np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0


@pytest.mark.parametrize("make", [ct.mesh.box, ct.mesh.hex_box])
@pytest.mark.parametrize(("axis", "flip"), [(0, False), (0, True), (1, False), (2, True)])
def test_surface_of_clipped_elements_encloses_their_volume(make, axis, flip):
    body = ct.SoftBody(make((4.0, 2.0, 2.0), (4, 2, 2)), name="bar")
    frame = ct.World([body]).frame()
    position = 0.5 if axis else 0.25
    clip = ClipPlane(axis, position, flip)
    coordinate = clip.coordinate(frame)
    assert coordinate == pytest.approx(1.0)
    kept = (1 - position if flip else position) * 16.0
    assert enclosed(frame["bar"], clip.triangles(frame["bar"], coordinate)) == pytest.approx(kept)


def test_clip_plane_outside_of_the_body():
    frame = ct.World([ct.SoftBody(ct.mesh.box(), name="bar")]).frame()
    body = frame["bar"]
    assert len(ClipPlane(0, 0.0).triangles(body, -1.0)) == 0
    whole = ClipPlane(0, 1.0).triangles(body, 2.0)
    assert {tuple(sorted(t)) for t in whole.tolist()} == {tuple(sorted(t)) for t in body.triangles.tolist()}


@pytest.mark.parametrize(
    ("make", "order"), [(ct.mesh.box, 1), (ct.mesh.box, 2), (ct.mesh.box, 3), (ct.mesh.hex_box, 1)]
)
def test_surface_triangle_maps_to_its_boundary_face(make, order):
    body = ct.SoftBody(make((1, 1, 1), (2, 2, 2)), order=order)
    for triangle in range(len(body.triangles)):
        middle = body.rest_positions[body.triangles[triangle]].mean(axis=0)
        face = body.mesh.points[body.mesh.boundary_faces[face_of_triangle(body, triangle)]]
        normal = np.cross(face[1] - face[0], face[2] - face[0])
        assert np.dot(middle - face[0], normal) == pytest.approx(0.0, abs=1e-12)
        assert (middle >= face.min(axis=0) - 1e-12).all()
        assert (middle <= face.max(axis=0) + 1e-12).all()
