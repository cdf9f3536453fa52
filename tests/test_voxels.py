"""3-D images that bodies carry: values follow their material points."""

import numpy as np
import pytest

import continua as ct
from continua.errors import InputError
from continua.render.iso import tets_of
from continua.scene import parse_scene
from continua.studio.encoding.volume_encoder import downsample, encode_volume


def line(points):
    """A linear function, which trilinear interpolation has exactly."""
    return 1.0 + 2.0 * points[:, 0] + 3.0 * points[:, 1] - points[:, 2]


def image(n=16):  # all values are exact in float32
    middles = (np.indices((n, n, n)).reshape(3, -1).T + 0.5) * (2.0 / n) - 0.5
    return ct.Voxels.around(line(middles).reshape(n, n, n), [[-0.5] * 3, [1.5] * 3])


def deformed():
    """A unit cube under x = A X + b, and its frame."""
    body = ct.SoftBody(
        ct.mesh.box(cells=(2, 3, 2)), material=ct.Linear(young=1e5), voxels=image(), name="cube"
    )
    A = np.array([[1.2, 0.4, 0.0], [-0.3, 0.9, 0.2], [0.1, 0.0, 1.5]])
    b = np.array([0.3, -2.0, 5.0])
    state = body.state()
    key = next(name for name, values in state.items() if values.shape == body.positions.shape)
    assert np.allclose(state[key], body.rest_positions)
    body.restore({**state, key: body.rest_positions @ A.T + b})
    return body.frame(), A, b


def test_a_value_follows_its_material_point_through_a_deformation():
    frame, A, b = deformed()
    tets = tets_of(frame)
    rng = np.random.default_rng(4)
    owner, weights = rng.integers(len(tets), size=500), rng.dirichlet(np.ones(4), 500)
    places = np.einsum("qc,qcd->qd", weights, frame.positions[tets[owner]])
    rest = np.einsum("qc,qcd->qd", weights, frame.rest_positions[tets[owner]])
    back = np.linalg.solve(A, (places - b).T).T  # the same deformation, undone
    np.testing.assert_allclose(frame.voxels.sample(rest), line(back), rtol=0, atol=1e-13)
    np.testing.assert_allclose(frame["voxels"], line(frame.rest_positions), rtol=0, atol=1e-13)


def test_the_page_gets_elements_their_outside_and_the_image():
    frame, _, _ = deformed()
    arrays, about = encode_volume(0, frame, np.arange(len(frame.positions)), None, 0.0)
    tets, faces = arrays["0/interior/tets"], arrays["0/interior/faces"]
    a, b, c = (frame.rest_positions[faces[:, i]] for i in range(3))
    assert np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0 == pytest.approx(
        1.0
    )  # outward: the volume of the cube
    assert len(tets) == frame.cells["tetra"].shape[0]
    low, high = about["valueRange"]
    sent = arrays["0/interior/image"].view(np.float16).astype(float).reshape(about["cells"], order="F")
    np.testing.assert_allclose(low + (high - low) * sent, frame.voxels.values, atol=(high - low) / 2048)


def test_an_image_that_is_too_large_for_the_page_is_sent_as_means():
    n = 600
    values = np.zeros((n, 2, 3), np.float32)
    values[7] = 1.0
    small = downsample(ct.Voxels(values, (1.0, 2.0, 3.0), (0.5, 1.0, 1.0)))
    assert small.values.shape == (200, 2, 3)
    assert small.spacing == (1.5, 1.0, 1.0)
    assert small.origin == (1.0, 2.0, 3.0)
    np.testing.assert_allclose(small.values[2], 1 / 3, rtol=1e-6)  # voxels 6, 7 and 8
    assert small.values.sum() == pytest.approx(values.sum() / 3)
    assert downsample(image()).values.shape == (16, 16, 16)


def test_between_voxels_it_is_linear_and_outside_there_is_nothing():
    two = ct.Voxels(np.array([0.0, 1.0]).reshape(2, 1, 1), (0, 0, 0), (1, 1, 1))
    points = np.array([[0.2, 0.5, 0.5], [1.0, 0.5, 0.5], [1.25, 0.1, 0.5], [1.9, 0.5, 0.5], [2.1, 0.5, 0.5]])
    np.testing.assert_allclose(two.sample(points), [0.0, 0.5, 0.75, 1.0, 0.0], atol=1e-12)


def test_files_and_scenes_bring_them(tmp_path):
    given = image()
    np.savez(tmp_path / "scan.npz", values=given.values, origin=given.origin, spacing=given.spacing)
    np.save(tmp_path / "bare.npy", given.values)
    found = ct.read_voxels(tmp_path / "scan.npz")
    np.testing.assert_array_equal(found.values, given.values)
    assert found.spacing == (0.125, 0.125, 0.125)
    text = "bodies: [{type: soft, name: cube, mesh: {type: box, cells: [1, 1, 1]}, voxels: {path: %s}}]"
    body = parse_scene(text % (tmp_path / "scan.npz")).build().bodies[0]
    np.testing.assert_allclose(body.frame()["voxels"], line(body.rest_positions), atol=2e-6)
    filled = parse_scene(text % (tmp_path / "bare.npy")).build().bodies[0].voxels
    assert filled.spacing == pytest.approx((1 / 16,) * 3)
    (tmp_path / "bad.npz").write_bytes(b"no")
    with pytest.raises(ValueError, match=r"voxels: .*cannot be read as a 3-D image"):
        parse_scene(text % (tmp_path / "bad.npz")).build()
    with pytest.raises(InputError, match="shape"):
        ct.Voxels(np.zeros((3, 3)))


@pytest.mark.parametrize("on", ["cells", "points"])
def test_a_vtk_image_written_by_vtk_itself_is_read_to_its_place(tmp_path, on):
    vtk = pytest.importorskip("vtkmodules.all")
    numpy_support = pytest.importorskip("vtkmodules.util.numpy_support")
    n, origin, spacing = (4, 3, 5), np.array([1.0, -2.0, 0.5]), np.array([0.5, 0.25, 2.0])
    data = vtk.vtkImageData()
    data.SetDimensions(*(np.array(n) + (on == "cells")))
    data.SetOrigin(*origin)
    data.SetSpacing(*spacing)
    flat = np.array([100.0 * k + 10.0 * j + i for k in range(n[2]) for j in range(n[1]) for i in range(n[0])])
    values = numpy_support.numpy_to_vtk(flat, deep=True)
    values.SetName("density")
    (data.GetCellData() if on == "cells" else data.GetPointData()).AddArray(values)
    writer = vtk.vtkXMLImageDataWriter()
    writer.SetFileName(str(tmp_path / "scan.vti"))
    writer.SetInputData(data)
    writer.Write()
    found = ct.read_voxels(tmp_path / "scan.vti")
    for i, j, k in ((0, 0, 0), (3, 1, 2), (1, 2, 4)):
        assert found.values[i, j, k] == 100 * k + 10 * j + i
        middle = origin + spacing * (np.array([i, j, k]) + (0.5 if on == "cells" else 0.0))
        np.testing.assert_allclose(found.sample(middle[None]), [100 * k + 10 * j + i], atol=1e-4)
    assert found.values.shape == n
    moved = ct.read_voxels(tmp_path / "scan.vti", origin=(0, 0, 0), spacing=(1, 1, 1))
    assert moved.origin == (0.0, 0.0, 0.0)
    assert moved.spacing == (1.0, 1.0, 1.0)


def test_a_picture_shows_detail_that_the_mesh_does_not_have():
    pytest.importorskip("pyvista")
    values = np.zeros((40, 40, 40))
    values[30:34, :, :] = 1.0  # a thin bright sheet inside of single elements, at x = 0.8
    body = ct.SoftBody(ct.mesh.box(cells=(1, 1, 1)), material=ct.Linear(young=1e5), name="cube")
    from continua.render import interior_picture

    shots = []
    for given in (values, 0.0 * values):
        body.voxels = ct.Voxels.around(given, body.mesh.bounds)
        shots.append(
            interior_picture(
                ct.World([body]).frame(),
                inside="volume",
                color="voxels",
                size=(320, 320),
                camera={"position": (0.5, 0.5, 4.0), "target": (0.5, 0.5, 0.5)},
                value_range=(0.0, 1.0),
            ).astype(float)
        )
    change = np.abs(shots[0] - shots[1])[120:200].sum(axis=2).mean(axis=0)
    bright = np.flatnonzero(change > 0.5 * change.max())
    assert 170 < bright.mean() < 250  # right of the middle
    assert len(bright) < 50


def test_what_is_no_image_is_refused_at_once():
    bounds = [[0.0] * 3, [1.0] * 3]
    for values in (np.zeros((0, 3, 3)), np.zeros((3, 3))):
        with pytest.raises(InputError, match=r"numbers of shape"):
            ct.Voxels.around(values, bounds)
    body = ct.SoftBody(ct.mesh.box(cells=(1, 1, 1)), name="cube")
    with pytest.raises(InputError, match=r"must be Voxels"):
        body.voxels = np.zeros((3, 3, 3))
    assert body.voxels is None
