"""Isosurfaces, point location, pictures of the interior, and embedded surfaces."""

import numpy as np
import pytest

import continua as ct
from continua.errors import InputError
from continua.render import interior_picture, iso_surface, make_view, picture
from continua.render.composition import compose
from continua.render.iso import tets_of


def area(points, triangles):
    a, b, c = (points[triangles[:, i]] for i in range(3))
    return 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum()


def normals(points, triangles):
    a, b, c = (points[triangles[:, i]] for i in range(3))
    return np.cross(b - a, c - a)


def test_isosurface_of_a_linear_field_is_the_exact_plane():
    mesh = ct.mesh.box((1.0, 1.0, 1.0), (4, 3, 5))
    direction = np.array([1.0, 0.4, -0.3])
    values = mesh.points @ direction
    points, triangles = iso_surface(mesh.points, mesh.tets, values, 0.37)
    assert points @ direction == pytest.approx(np.full(len(points), 0.37), abs=1e-12)
    facing = normals(points, triangles) @ direction
    assert (facing >= -1e-15).all()  # normals point to higher values
    # the plane cuts the unit cube: its area is the integral of |direction| over the cut, checked by sampling the cube
    middle = iso_surface(mesh.points, mesh.tets, mesh.points[:, 0], 0.55)
    assert area(*middle) == pytest.approx(1.0)
    assert len(iso_surface(mesh.points, mesh.tets, values, 9.0)[0]) == 0


def test_isosurfaces_of_the_distance_converge_to_spheres():
    errors = []
    for cells in (6, 12):
        mesh = ct.mesh.box((2.0, 2.0, 2.0), (cells,) * 3, origin=(-1, -1, -1))
        points, triangles = iso_surface(mesh.points, mesh.tets, np.linalg.norm(mesh.points, axis=1), 0.7)
        errors.append(abs(area(points, triangles) / (4 * np.pi * 0.7**2) - 1.0))
        outward = np.einsum("ij,ij->i", normals(points, triangles), points[triangles].mean(axis=1))
        assert (outward > -1e-12).all()
        # closed: every edge belongs to two triangles
        edges = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
        assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()
    assert errors[1] < errors[0] / 3.0  # of second order
    assert errors[1] < 0.02


def test_isosurface_is_independent_of_element_order_and_stays_valid_under_large_deformation():
    mesh = ct.mesh.box((1.0, 1.0, 1.0), (3, 3, 3))
    values = np.sin(5 * mesh.points[:, 0]) + mesh.points[:, 1]
    bent = mesh.points + 0.4 * np.sin(3.0 * mesh.points[:, [1, 2, 0]])
    one = iso_surface(bent, mesh.tets, values, 0.8)
    other = iso_surface(bent, mesh.tets[np.random.default_rng(1).permutation(len(mesh.tets))], values, 0.8)
    assert np.array_equal(one[0], other[0])
    assert area(*one) == pytest.approx(area(*other))


@pytest.fixture(scope="module")
def frame():
    beam = ct.SoftBody(
        ct.mesh.box((1.0, 0.25, 0.25), (6, 2, 2)), material=ct.Corotated(young=3e5), name="beam"
    )
    beam.pin(where=lambda x: x[:, 0] < 1e-6)
    world = ct.World([beam])
    world.settle()
    return world.frame()


@pytest.mark.parametrize("inside", ["surfaces", "volume"])
def test_interior_pictures_have_the_colours_of_the_field(frame, inside, tmp_path):
    pytest.importorskip("pyvista")
    pixels = interior_picture(frame, tmp_path / "inside.png", inside=inside, size=(320, 180)).astype(int)
    left = pixels[:, :260]  # without the legend
    strong = (left.max(axis=2) - left.min(axis=2)) > 40
    assert strong.mean() > 0.005
    # stress is high at the clamped end, on the left of the picture
    columns = np.flatnonzero(strong.any(axis=0))
    assert columns.mean() < 160
    assert (tmp_path / "inside.png").exists()


def test_volume_uses_the_colours_of_the_range(frame):
    pytest.importorskip("pyvista")
    top = float(frame["beam"].scalars("von_mises").max())
    shots = {
        end: interior_picture(frame, inside="volume", size=(320, 180), value_range=(0.0, end * top)).astype(
            int
        )
        for end in (0.02, 20.0)
    }
    red, green, blue = np.moveaxis(shots[0.02][:, :250], 2, 0)
    assert (green - blue).max() > 60  # all above the range: the last colour, yellow
    red, green, blue = np.moveaxis(shots[20.0][:, :250], 2, 0)
    assert (green - blue).max() < 10  # all near its lower end: the first one, blue
    assert (blue - red).max() > 25


def test_invalid_interior_options_are_rejected(frame):
    pytest.importorskip("pyvista")
    with pytest.raises(InputError, match="choose from surfaces, volume"):
        interior_picture(frame, inside="smoke")
    with pytest.raises(InputError, match="needs a field"):
        interior_picture(frame, color="plain")
    assert len(tets_of(frame["beam"])) == 144


def wavy(rows=20, columns=30):
    """Return a closed detailed surface inside of the unit ball of radius 0.5."""
    u, v = np.meshgrid(
        np.linspace(0, np.pi, rows)[1:-1], np.arange(columns) * 2 * np.pi / columns, indexing="ij"
    )
    radius = 0.4 + 0.03 * np.cos(6 * v) * np.sin(u) ** 3
    points = np.stack(
        [radius * np.sin(u) * np.cos(v), radius * np.cos(u), radius * np.sin(u) * np.sin(v)], -1
    )
    n, i = rows - 2, np.arange(columns)
    j = (i + 1) % columns
    a, b = (np.arange(n - 1)[:, None] * columns + k for k in (i, j))
    quads = np.stack([a, b, b + columns, a, b + columns, a + columns], -1).reshape(-1, 3)
    last = (n - 1) * columns
    top = np.stack([np.full(columns, n * columns), j, i], -1)
    bottom = np.stack([np.full(columns, n * columns + 1), last + i, last + j], -1)
    ends = [[0.0, 0.4, 0.0], [0.0, -0.4, 0.0]]
    return ct.SurfaceMesh(np.concatenate([points.reshape(-1, 3), ends]), np.concatenate([quads, top, bottom]))


def test_embedded_surface_follows_affine_motion_exactly_and_is_drawn():
    skin = wavy()
    body = ct.SoftBody(ct.mesh.sphere(0.55, 3), skin=skin, name="ball", color=(0.2, 0.5, 0.8))
    world = ct.World([body], gravity=(0.0, 0.0, 0.0))
    matrix = np.array([[1.1, 0.2, 0.0], [-0.1, 0.9, 0.3], [0.0, 0.1, 1.2]])
    state = world.state()
    state["ball/positions"] = state["ball/positions"] @ matrix.T + [0.3, 0.2, 0.1]
    world.restore(state)
    seen = world.frame()["ball"].with_embedded_surface("displacement")
    assert seen.positions == pytest.approx(skin.points @ matrix.T + [0.3, 0.2, 0.1], abs=1e-12)
    assert len(seen.triangles) == len(skin.triangles)
    moved = np.linalg.norm(seen.positions - skin.points, axis=1)
    # lengths are carried linearly from the nodes, so they are near, not equal
    assert seen["displacement"] == pytest.approx(moved, abs=0.1 * moved.max())
    pixels = picture(world.frame(), size=(160, 90), color="plain").astype(int)
    assert (pixels[..., 2] - pixels[..., 0] > 25).mean() > 0.02
    with pytest.raises(InputError, match="only bodies of tetrahedra"):
        ct.SoftBody(ct.mesh.hex_box((1, 1, 1), (1, 1, 1)), skin=skin)


def test_a_skin_beyond_the_mesh_shows_no_negative_speed_and_stays_beside_fluid_surfaces():
    skin = ct.SurfaceMesh(1.3 * wavy().points, wavy().triangles)
    body = ct.SoftBody(ct.mesh.sphere(0.45, 2), skin=skin, name="ball")
    world = ct.World([body], gravity=(0.0, 0.0, 0.0))
    state = world.state()
    state["ball/velocities"] = np.cross([0.0, 0.0, 3.0], state["ball/positions"])  # no speed on the axis
    world.restore(state)
    frame = world.frame()
    speeds = frame["ball"].with_embedded_surface("velocity")["velocity"]
    assert speeds.min() >= 0.0
    assert speeds.max() > 1.2
    for fluid in ("points", "surface"):
        view = make_view([frame], color="velocity", fluid=fluid)
        assert view.legend.low == 0.0
        (shape,) = compose(frame, view).shapes
        assert len(shape.triangles) == len(skin.triangles)


def test_scene_with_an_embedded_surface(tmp_path):
    skin = wavy().transformed(translate=(0.0, 1.0, 0.0))
    lines = [f"v {x} {y} {z}" for x, y, z in skin.points]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in skin.triangles]
    (tmp_path / "skin.obj").write_text("\n".join(lines) + "\n")
    text = """
seconds: 0.1
bodies:
  - type: soft
    name: ball
    mesh: {type: sphere, radius: 0.55, cells: 3}
    skin: {path: skin.obj}
    transform: {scale: 2.0}
"""
    (tmp_path / "a.yaml").write_text(text)
    frame = ct.load_scene(tmp_path / "a.yaml").build().frame()
    assert frame["ball"].skin.rest == pytest.approx(2.0 * skin.points, abs=1e-6)
