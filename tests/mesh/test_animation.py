"""Animated surfaces: key frames, skins, morph targets and sequences against formulas; velocities are exact."""

import copy
import pickle

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline
from scipy.spatial.transform import Rotation, Slerp

import continua as ct
from continua.errors import InputError
from tests.mesh.animated_glb import AnimatedGlb

POINTS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
TRIANGLES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
QUARTER = [0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]  # 90 degrees about z


def two_bones(path, **sampler):
    """A tetrahedron whose point 1 hangs half on each of two joints; the second turns about z through (1, 0, 0)."""
    file = AnimatedGlb()
    weights = [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]]
    mesh = file.mesh(POINTS, TRIANGLES, joints=[[0, 1, 0, 0]] * 4, weights=weights)
    shift = np.eye(4)
    shift[0, 3] = -1.0
    arm = file.node(translation=[1.0, 0.0, 0.0], root=False)
    root = file.node(children=[arm])
    skin = file.skin([root, arm], [np.eye(4), shift])
    file.node(
        mesh=mesh, skin=skin, translation=[50.0, 0.0, 0.0]
    )  # the node of a skinned mesh does not place it
    file.channel(arm, "rotation", [0.0, 2.0], [[0, 0, 0, 1], QUARTER], **sampler)
    return file.write(path)


def test_linear_blend_skinning_of_two_bones(tmp_path):
    animation = ct.MeshAnimation.read(two_bones(tmp_path / "bones.glb"))
    assert animation.surface.points == pytest.approx(POINTS)
    assert animation.duration == 2.0
    # By hand, at 45 degrees: joint 2 turns (0, 0, 1) - (1, 0, 0) = (-1, 0, 1) about z to (-c, -c, 1), plus (1, 0, 0).
    c = np.sqrt(0.5)
    turned = np.array([1.0 - c, -c, 1.0])
    expected = np.array([[0, 0, 0], [1.0, 0, 0], [0, 1, 0], turned])
    assert animation.positions(1.0) == pytest.approx(expected, abs=1e-6)
    # Its velocity is omega x arm with omega = pi/4 per second.
    omega = np.pi / 4.0
    assert animation.velocities(1.0)[3] == pytest.approx([omega * c, -omega * c, 0.0], abs=1e-6)
    assert animation.positions(5.0) == pytest.approx(animation.positions(2.0))
    assert not animation.velocities(5.0).any()


def test_morph_targets_follow_their_weights(tmp_path):
    file = AnimatedGlb()
    targets = [np.tile([0, 0, 1.0], (4, 1)), POINTS]
    mesh = file.mesh(POINTS, TRIANGLES, targets, weights=None)
    file.about["meshes"][mesh]["weights"] = [0.25, 0.0]
    node = file.node(mesh=mesh, scale=[2.0, 2.0, 2.0])
    file.channel(node, "weights", [0.0, 1.0], [[0.0, 0.0], [1.0, 0.5]])
    path = file.write(tmp_path / "morph.glb")
    animation = ct.MeshAnimation.read(path)
    assert animation.positions(0.5) == pytest.approx(2.0 * (1.25 * POINTS + [0, 0, 0.5]), abs=1e-6)
    assert animation.velocities(0.5) == pytest.approx(2.0 * (0.5 * POINTS + [0, 0, 1.0]), abs=1e-6)
    # Read as a mesh, the file is in its rest pose with the weights of the mesh.
    assert ct.mesh.read(path).points == pytest.approx(2.0 * (POINTS + [0, 0, 0.25]), abs=1e-6)


def test_cubic_spline_and_step_against_scipy(tmp_path):
    file = AnimatedGlb()
    times = np.array([0.0, 0.5, 2.0])
    values, slopes = (
        np.array([[0, 0, 0], [1, 2, 0], [0, 1, 3.0]]),
        np.array([[1, 0, 0], [0, -1, 1], [2, 0, 0.0]]),
    )
    node = file.node(mesh=file.mesh(POINTS, TRIANGLES))
    file.channel(node, "translation", times, np.stack([slopes, values, slopes], axis=1), "CUBICSPLINE")
    file.channel(node, "scale", times, [[1, 1, 1], [2, 2, 2], [3, 3, 3]], "STEP")
    animation = ct.MeshAnimation.read(file.write(tmp_path / "spline.glb"))
    spline = CubicHermiteSpline(times, values, slopes)
    for t in (0.1, 0.5, 1.3):
        assert animation.positions(t)[0] == pytest.approx(spline(t), abs=1e-6)
        assert animation.velocities(t)[0] == pytest.approx(spline(t, 1), abs=1e-6)
    size = [np.linalg.norm(animation.positions(t)[1] - animation.positions(t)[0]) for t in (0.49, 0.5, 1.99)]
    assert size == pytest.approx([1.0, 2.0, 2.0], abs=1e-6)


def test_rotations_take_the_shorter_great_arc(tmp_path):
    file = AnimatedGlb()
    a, b = Rotation.from_rotvec([0.2, -0.4, 0.9]), Rotation.from_rotvec([-1.1, 0.3, 0.4])
    node = file.node(mesh=file.mesh(POINTS, TRIANGLES))
    file.channel(node, "rotation", [0.0, 1.0], [a.as_quat(), -b.as_quat()])
    animation = ct.MeshAnimation.read(file.write(tmp_path / "turn.glb"))
    between = Slerp([0.0, 1.0], Rotation.concatenate([a, b]))
    for t in (0.0, 0.3, 0.9):
        assert animation.positions(t) == pytest.approx(between(t).apply(POINTS), abs=1e-6)


def heart(loop=False, **more):
    t = np.linspace(0.0, 1.0, 13)[:-1, None, None]
    frames = POINTS * (1.0 + 0.3 * np.sin(2 * np.pi * t)) + 0.2 * np.cos(2 * np.pi * t) * [1.0, 0, 0]
    return ct.MeshAnimation(frames, TRIANGLES, fps=12, loop=loop, **more)


@pytest.mark.parametrize("interpolation", ["linear", "cubic"])
@pytest.mark.parametrize("loop", [False, True])
def test_velocities_are_the_rates_of_positions(interpolation, loop):
    animation = heart(loop, interpolation=interpolation, speed=1.5, start=0.2).transformed(
        translate=(1, 2, 3), rotate=(0.1, 0.7, 0.2), scale=(1.0, 2.0, 0.5)
    )
    h = 1e-6
    for t in (0.3071, 0.55, 0.81, 1.234):
        difference = (animation.positions(t + h) - animation.positions(t - h)) / (2.0 * h)
        assert animation.velocities(t) == pytest.approx(difference, abs=1e-6)
    assert animation.positions(0.0) == pytest.approx(animation.surface.points)


def test_skins_and_morphs_have_exact_velocities(tmp_path):
    file = AnimatedGlb()
    rng = np.random.default_rng(4)
    weights = rng.random((4, 4))
    mesh = file.mesh(POINTS, TRIANGLES, [rng.random((4, 3))], rng.integers(0, 2, (4, 4)), weights)
    child = file.node(translation=[0.3, 0.1, 0.0], root=False)
    root = file.node(children=[child], scale=[1.0, 2.0, 0.5])
    node = file.node(mesh=mesh, skin=file.skin([root, child], [np.eye(4)] * 2))
    keys = Rotation.random(3, random_state=5).as_quat()
    file.channel(root, "rotation", [0.0, 1.0, 2.0], keys)
    tangents = rng.random((3, 4))
    file.channel(
        child, "rotation", [0.0, 1.0, 2.0], np.stack([tangents, keys[::-1], tangents], axis=1), "CUBICSPLINE"
    )
    file.channel(child, "scale", [0.0, 2.0], [[1, 1, 1], [2, 1, 3]])
    file.channel(node, "weights", [0.0, 2.0], [[0.0], [1.0]])
    animation = ct.MeshAnimation.read(file.write(tmp_path / "all.glb"))
    h = 1e-6
    for t in (0.4, 1.7):
        difference = (animation.positions(t + h) - animation.positions(t - h)) / (2.0 * h)
        assert animation.velocities(t) == pytest.approx(difference, abs=1e-6)


def test_cubic_frames_are_smooth_and_exact_for_parabolas():
    t = np.arange(6)[:, None, None] / 10.0
    animation = ct.MeshAnimation(POINTS + t**2 * [1.0, -2.0, 0.5], TRIANGLES, fps=10, interpolation="cubic")
    for at in (0.03, 0.27, 0.48):
        assert animation.positions(at) == pytest.approx(
            POINTS + at**2 * np.array([1.0, -2.0, 0.5]), abs=1e-12
        )
        assert animation.velocities(at)[0] == pytest.approx(2.0 * at * np.array([1.0, -2.0, 0.5]), abs=1e-12)


def test_a_loop_goes_on_from_the_last_frame_to_the_first():
    animation = heart(loop=True)
    assert animation.duration == pytest.approx(1.0)
    for t in (0.2, 0.97):
        assert animation.positions(t + 3.0) == pytest.approx(animation.positions(t), abs=1e-12)
    step = animation.positions(1.0 + 1e-9) - animation.positions(1.0 - 1e-9)
    assert np.abs(step).max() < 1e-7


def test_a_sequence_of_files_is_read_in_the_order_of_its_numbers(tmp_path):
    for k in (0, 1, 2, 10):
        surface = ct.SurfaceMesh(POINTS + [float(k), 0, 0], TRIANGLES)
        ct.mesh.write(surface, tmp_path / f"walk_{k}.obj")
    animation = ct.MeshAnimation.read(tmp_path / "walk_*.obj", fps=2.0)
    assert animation.duration == 1.5
    assert animation.positions(0.75)[0] == pytest.approx([1.5, 0, 0])
    assert animation.velocities(1.2)[0] == pytest.approx([16.0, 0, 0])
    ct.mesh.write(ct.SurfaceMesh(POINTS, TRIANGLES[:, ::-1]), tmp_path / "walk_3.obj")
    with pytest.raises(InputError, match=r"walk_3.obj.*not those of walk_0.obj"):
        ct.MeshAnimation.read(tmp_path / "walk_*.obj")


def test_points_are_welded_only_if_they_move_together(tmp_path):
    file = AnimatedGlb()
    split = POINTS[TRIANGLES.ravel()]  # every triangle has its own points
    node = file.node(mesh=file.mesh(split, np.arange(12).reshape(4, 3)))
    other = file.node(mesh=file.mesh(split, np.arange(12).reshape(4, 3)))
    file.channel(node, "translation", [0.0, 1.0], [[0, 0, 0], [0, 1, 0]])
    assert other == 1
    animation = ct.MeshAnimation.read(file.write(tmp_path / "split.glb"))
    assert animation.surface.node_count == 8  # both bodies start at the same place and part
    assert animation.surface.is_closed


def test_bad_animations_are_refused_in_a_sentence(tmp_path):
    path = two_bones(tmp_path / "bones.glb")
    with pytest.raises(InputError, match=r"cannot loop: at its end, points are up to 1\.41 m"):
        ct.MeshAnimation.read(path, loop=True)
    with pytest.raises(InputError, match="no animation 'run'; it has 'move'"):
        ct.MeshAnimation.read(path, animation="run")
    with pytest.raises(InputError, match="no such file"):
        ct.MeshAnimation.read(tmp_path / "none.glb")
    with pytest.raises(InputError, match="matches 0"):
        ct.MeshAnimation.read(tmp_path / "none_*.obj")
    with pytest.raises(InputError, match="two frames"):
        ct.MeshAnimation(POINTS[None], TRIANGLES)
    still = AnimatedGlb()
    still.node(mesh=still.mesh(POINTS, TRIANGLES))
    del still.about["animations"]
    with pytest.raises(InputError, match="no animation; export"):
        ct.MeshAnimation.read(still.write(tmp_path / "still.glb"))
    single = AnimatedGlb()
    node = single.node(mesh=single.mesh(POINTS, TRIANGLES))
    single.channel(node, "translation", [1.0], [[0.0, 0.0, 0.0]])
    for loop in (False, True):
        with pytest.raises(InputError, match="a single moment"):
            ct.MeshAnimation.read(single.write(tmp_path / "single.glb"), loop=loop)
    data = path.read_bytes()
    for cut in range(20, len(data), 97):
        (tmp_path / "cut.glb").write_bytes(data[:cut])
        with pytest.raises(InputError):
            ct.MeshAnimation.read(tmp_path / "cut.glb")


def test_copies_move_alike_and_arrays_stay_read_only(tmp_path):
    for animation in (heart(), ct.MeshAnimation.read(two_bones(tmp_path / "bones.glb"))):
        animation.positions(0.3)
        for other in (copy.deepcopy(animation), pickle.loads(pickle.dumps(animation))):
            assert np.array_equal(other.positions(0.7), animation.positions(0.7))
            with pytest.raises(ValueError, match="read-only"):
                other.positions(0.3)[0, 0] = 1.0
