from __future__ import annotations

import numpy as np
import pytest

from continua.errors import InputError
from continua.render import Camera, fit_camera

SIZE = (640, 360)


def test_projection_agrees_with_the_textbook_matrix():
    camera = Camera((3.0, 2.0, 5.0), (0.2, 0.1, -0.3), fov=40.0)
    points = np.random.default_rng(0).uniform(-1, 1, (50, 3))
    # The classic way: a view matrix from three axes, then a perspective matrix, then the viewport.
    f = np.subtract(camera.target, camera.position)
    f /= np.linalg.norm(f)
    s = np.cross(f, [0, 1, 0])
    s /= np.linalg.norm(s)
    view = np.eye(4)
    view[:3, :3] = [s, np.cross(s, f), -f]
    view[:3, 3] = -view[:3, :3] @ np.array(camera.position)
    near, far, aspect = 0.1, 100.0, SIZE[0] / SIZE[1]
    t = 1 / np.tan(np.radians(20.0))
    lens = np.zeros((4, 4))
    lens[[0, 1, 2, 2, 3], [0, 1, 2, 3, 2]] = [
        t / aspect,
        t,
        -(far + near) / (far - near),
        -2 * far * near / (far - near),
        -1,
    ]
    clip = np.column_stack([points, np.ones(50)]) @ view.T @ lens.T
    device = clip[:, :2] / clip[:, 3:]
    pixels = (device * [1, -1] + 1) / 2 * SIZE
    seen = camera.project(points, SIZE)
    np.testing.assert_allclose(seen[:, :2], pixels, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(seen[:, 2], clip[:, 3], rtol=1e-12)


@pytest.mark.parametrize("shape", [(8, 1, 1), (1, 8, 1), (1, 1, 8), (1, 1, 1), (3, 0.01, 3)])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_fitted_camera_shows_all_points_and_fills_the_picture(shape, scale):
    rng = np.random.default_rng(1)
    points = scale * (rng.uniform(-0.5, 0.5, (200, 3)) * shape + [3.0, -2.0, 7.0])
    seen = fit_camera(points, SIZE).project(points, SIZE)
    part = seen[:, :2] / SIZE
    assert part.min() > 0.05
    assert part[:, 0].max() < 0.9  # the legend's place
    assert part[:, 1].max() < 0.9
    assert np.ptp(part, axis=0).max() > 0.75
    assert seen[:, 2].min() > 0


def test_default_azimuth_faces_the_longer_side():
    long_x = np.array([[-4, 0, 0], [4, 1, 1.0]])
    long_z = long_x[:, [2, 1, 0]]
    back = np.subtract(fit_camera(long_x, SIZE).position, fit_camera(long_x, SIZE).target)
    assert back[2] > abs(back[0])
    back = np.subtract(fit_camera(long_z, SIZE).position, fit_camera(long_z, SIZE).target)
    assert back[0] > abs(back[2])


def test_camera_from_options():
    points = np.array([[0, 0, 0], [1, 2, 3.0]])
    placed = Camera.of({"position": (5, 5, 5)}, points, SIZE)
    assert placed.target == (0.5, 1.0, 1.5)
    turned = Camera.of({"azimuth": 90.0, "elevation": 0.0}, points, SIZE)
    back = np.subtract(turned.position, turned.target)
    np.testing.assert_allclose(back / np.linalg.norm(back), [1, 0, 0], atol=1e-12)
    assert Camera.of(placed, points, SIZE) is placed


@pytest.mark.parametrize(
    "options",
    [
        {"position": (0, 0, 0), "target": (0, 0, 0)},
        {"position": (0, 1, 0), "target": (0, 0, 0)},
        {"position": (0, 1), "target": (0, 0, 0)},
        {"position": (0, 1, float("nan")), "target": (0, 0, 0)},
        {"position": (0, 1, 2), "target": (0, 0, 0), "fov": 0.0},
        {"zoom": 3},
        {"elevation": 90.0},
    ],
)
def test_invalid_cameras_are_rejected(options):
    with pytest.raises(InputError):
        Camera.of(options, np.array([[0, 0, 0], [1, 2, 3.0]]), SIZE)
