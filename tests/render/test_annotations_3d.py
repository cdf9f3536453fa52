"""Arrows of contact forces and rods of joints in pictures."""

import numpy as np
import pytest

import continua as ct
from continua.frames import BodyFrame, ContactForces, Frame, RunInfo
from continua.output import make_sink
from continua.render import Camera, make_view, picture
from continua.render.composition import compose
from continua.render.overlay import annotate, force_key

SIZE = (320, 180)
CAMERA = Camera((0, 0, 9), (0, 0, 0))


def _frame(points, forces, joints=None, index=0):
    ball = ct.mesh.surfaces.sphere(0.5, 2)
    contacts = ContactForces(np.array(points, float), np.array(forces, float))
    body = BodyFrame("ball", "rigid", ball.points, ball.points, {}, ball.triangles, {}, contacts=contacts)
    lines = np.zeros((0, 2, 3)) if joints is None else np.array(joints, float)
    return Frame(index, index, 0.0, {"ball": body}, joints=lines)


def _red(pixels):
    """Tell where a picture has the colour of arrows."""
    r, g, b = (pixels[..., c].astype(int) for c in range(3))
    return (r > 150) & (g < 150) & (b < 180)


def test_arrows_start_at_contact_points_and_match_the_force_key():
    shown = _frame([[0, -0.5, 0], [1, 0, 0]], [[0, 40, 0], [0, 80, 0]])
    view = make_view([shown], size=SIZE, color="plain", camera=CAMERA, contact_forces=True)
    composition = compose(shown, view)
    np.testing.assert_allclose(composition.arrows[:, 0], [[0, -0.5, 0], [1, 0, 0]])
    lengths = np.linalg.norm(np.diff(composition.arrows, axis=1), axis=2)[:, 0]
    assert lengths[1] == pytest.approx(2 * lengths[0])
    force, pixels = force_key(view)
    ends = CAMERA.project(composition.arrows[0], SIZE)
    assert np.linalg.norm(np.diff(ends[:, :2], axis=0)) == pytest.approx(40 / force * pixels)
    seen = _red(annotate(np.full((SIZE[1], SIZE[0], 3), 255, np.uint8), composition))
    x, y = CAMERA.project(composition.arrows[1], SIZE)[:, :2].mean(axis=0)
    assert seen[round(y), round(x) - 2 : round(x) + 3].any()


def test_annotations_are_off_by_default():
    pressed, free = _frame([[0, -0.5, 0]], [[0, 40, 0]]), _frame(np.zeros((0, 3)), np.zeros((0, 3)))
    plain = {"size": SIZE, "color": "plain", "camera": CAMERA}
    assert np.array_equal(picture(pressed, **plain), picture(free, **plain))
    assert np.array_equal(picture(free, contact_forces=True, joints=True, **plain), picture(free, **plain))


def test_one_arrow_scale_per_sequence_and_impact_arrows_are_limited():
    frames = [_frame([[0, -0.5, 0]], [[0, 10, 0]], index=k) for k in range(9)]
    frames.append(_frame([[0, -0.5, 0]], [[0, 1e5, 0]], index=9))
    view = make_view(frames, size=SIZE, color="plain", contact_forces=True)
    calm, hit = (compose(frames[k], view).arrows[0] for k in (0, 9))
    assert 0.2 * view.radius < np.linalg.norm(calm[1] - calm[0]) < view.radius
    assert np.linalg.norm(hit[1] - hit[0]) < view.radius


def test_joints_are_drawn_as_rods_inside_the_view():
    hung = _frame(np.zeros((0, 3)), np.zeros((0, 3)), joints=[[[0, 3, 0], [0, 0, 0]]])
    view = make_view([hung], size=SIZE, color="plain", joints=True)
    assert view.high[1] == pytest.approx(3.0)
    (rods,) = (shape for shape in compose(hung, view).shapes if shape.name == "joints")
    away = np.hypot(rods.positions[:, 0], rods.positions[:, 2])
    assert away.max() < 0.05
    assert rods.positions[:, 1].min() == pytest.approx(0.0)
    corners = rods.positions[rods.triangles]
    outward = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    facing = np.einsum("ki,kci->kc", outward, rods.normals[rods.triangles])
    assert (facing.sum(axis=1) > -1e-12).all()  # rings that meet have no area


def test_films_show_the_arrows(tmp_path):
    frames = [
        _frame([[0, -0.5, 0]], [[0, 40, 0]], joints=[[[0, 2, 0], [0, 0, 0]]], index=k) for k in range(2)
    ]
    view = {"size": SIZE, "color": "plain", "contact_forces": True, "joints": True, "camera": CAMERA}
    sink = make_sink("png", tmp_path)
    sink.open(RunInfo(name="run", view=view))
    for frame in frames:
        sink.write(frame)
    last = sink.close()[0]
    from PIL import Image

    seen = np.asarray(Image.open(last))
    assert np.abs(seen.astype(int) - picture(frames[1], **view)).mean() < 0.05
    assert _red(seen).any()
