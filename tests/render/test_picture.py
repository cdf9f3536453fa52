from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import continua as ct
from continua.errors import InputError
from continua.frames import BodyFrame, Field, Frame
from continua.numerics import get_threads, set_threads
from continua.render import Camera, Painter, make_view, picture, renderer_report
from continua.render.composition import compose
from continua.render.overlay import _scaled_unit, format_length, scale_bar
from continua.render.raster import draw

SIZE = (320, 180)
FLOOR = {"kind": "plane", "point": (0.0, 0.0, 0.0), "normal": (0.0, 1.0, 0.0)}
CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float) - [0.5, 0.0, 0.5]
SIDES = (
    np.array(
        [
            [0, 1, 3, 2],
            [4, 6, 7, 5],
            [0, 4, 5, 1],
            [2, 3, 7, 6],
            [0, 2, 6, 4],
            [1, 5, 7, 3],
        ]
    )[:, [0, 1, 2, 0, 2, 3]]
    .reshape(-1, 3)
    .astype(np.int32)
)


def body(points=CUBE, triangles=SIDES, values=None, color=None, name="cube"):
    values = np.linspace(0, 1e5, len(points)) if values is None else values
    fields = {
        "von_mises": Field(values, "Pa"),
        "displacement": Field(np.zeros((len(points), 3)), "m"),
    }
    return BodyFrame(name, "soft", points, points, {}, triangles, fields, color)


def frame(*bodies, colliders=(), time=0.5):
    return Frame(3, 6, time, {item.name: item for item in bodies}, colliders=tuple(colliders))


def bare(what, **options):
    """Draw without legend and text."""
    view = make_view([what], size=SIZE, **options)
    return draw(compose(what, view)).astype(float), view


def background(**options):
    return bare(frame(), camera=Camera((0, 0, 9), (0, 0, 0)), **options)[0]


def inside_hull(points, pixels):
    """Tell which pixels lie inside the convex hull of the points, by the signs of all its edges."""
    from scipy.spatial import ConvexHull

    hull = ConvexHull(points)
    return (pixels @ hull.equations[:, :2].T + hull.equations[:, 2]).max(axis=1)


def test_body_covers_exactly_its_projected_pixels():
    drawn, view = bare(frame(body(color=(0.1, 0.3, 0.2))), color="plain")
    changed = np.abs(drawn - background()).max(axis=2) > 2
    y, x = np.mgrid[: SIZE[1], : SIZE[0]]
    centers = np.stack([x.ravel() + 0.5, y.ravel() + 0.5], axis=1)
    outside = inside_hull(view.camera.project(CUBE, SIZE)[:, :2], centers).reshape(SIZE[1], SIZE[0])
    assert changed[outside < -0.8].all()
    assert not changed[outside > 0.8].any()


def test_nearer_surfaces_hide_farther_ones():
    red = body(CUBE + np.array([0, 0, 2.0]), color=(0.8, 0.1, 0.1), name="near")
    green = body(CUBE * 2 - [0, 0.5, 0], color=(0.1, 0.7, 0.1), name="far")
    camera = Camera((0, 0.5, 12), (0, 0.5, 0))
    for order in ((red, green), (green, red)):
        drawn, _ = bare(frame(*order), color="plain", camera=camera)
        middle = drawn[SIZE[1] // 2, SIZE[0] // 2]
        assert middle[0] > 2 * middle[1]


def test_interpolation_is_perspective_correct():
    wide = (1280, 720)
    # A long strip seen at a low angle; the colour changes linearly along it in space, not on screen.
    strip = np.array([[-1, 0, 0], [1, 0, 0], [1, 0, -20], [-1, 0, -20.0]])
    faces = np.array([[0, 1, 2], [0, 2, 3]], np.int32)
    item = body(strip, faces, values=np.array([0, 0, 1, 1.0]))
    camera = Camera((0, 1.5, 6), (0, 0, -3), fov=50)
    view = make_view([frame(item)], size=wide, camera=camera, value_range=(0.0, 1.0))
    drawn = draw(compose(frame(item), view)).astype(float)
    spots = np.array([[0, 0, -4.0], [0, 0, -10.0], [0, 0, -16.0]])
    fixed = []
    for part in (0.2, 0.5, 0.8):  # the same strip in one colour: the same light, so the same pixel
        plain = body(strip, faces, values=np.full(4, part))
        fixed.append(draw(compose(frame(plain), view)).astype(float))
    for spot, want in zip(view.camera.project(spots, wide), fixed):
        x, y = spot[:2].astype(int)
        np.testing.assert_allclose(drawn[y, x], want[y, x], atol=6)


def test_single_triangle_is_visible_from_both_sides():
    corner = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0.0]])
    item = body(corner, np.array([[0, 1, 2]], np.int32), values=np.zeros(3), color=(0.1, 0.1, 0.1))
    for z in (4.0, -4.0):
        camera = Camera((0.3, 0.3, z), (0.3, 0.3, 0))
        drawn, _ = bare(frame(item), color="plain", camera=camera)
        assert drawn[SIZE[1] // 2, SIZE[0] // 2].max() < 140


def test_camera_inside_a_body_sees_its_surface():
    camera = Camera((0.1, 0.5, 0.2), (0.0, 0.4, -0.5), fov=80)
    drawn, _ = bare(frame(body(color=(0.1, 0.1, 0.1))), color="plain", camera=camera)
    assert drawn.max() < 200  # no hole shows the bright background


def test_empty_world_shows_the_background_and_the_ground_receives_shadows():
    assert picture(frame(), size=SIZE).shape == (SIZE[1], SIZE[0], 3)
    empty = background()
    assert np.ptp(empty, axis=1).max() == 0
    camera = {"position": (3, 4, 5), "target": (0, 0, 0)}
    ground, view = bare(frame(body(), colliders=[FLOOR]), camera=camera, color="plain")
    lonely, _ = bare(frame(body(CUBE), colliders=[]), camera=camera, color="plain")
    spots = {"near": [0.75, 0.0, -0.3], "far": [-1.8, 0.0, 1.2]}
    levels = {}
    for name, spot in spots.items():
        x, y = view.camera.project([spot], SIZE)[0, :2].astype(int)
        levels[name] = ground[y, x].mean() / lonely[y, x].mean()
    assert levels["far"] < 1.0
    assert levels["near"] < levels["far"] - 0.05


def test_ground_is_opaque_from_above_only():
    sunk = body(CUBE - [0, 0.5, 0], color=(0.05, 0.05, 0.05))
    camera = {"position": (0, 2, 6), "target": (0, 0, 0)}
    drawn, view = bare(frame(sunk, colliders=[FLOOR]), color="plain", camera=camera)
    x, y = view.camera.project([[0.0, -0.3, 0.5]], SIZE)[0, :2].astype(int)
    assert drawn[y, x].mean() > 100
    below = {"position": (0, -2, 6), "target": (0, 0, 0)}
    drawn, view = bare(frame(sunk, colliders=[FLOOR]), color="plain", camera=below)
    x, y = view.camera.project([[0.0, -0.3, 0.5]], SIZE)[0, :2].astype(int)
    assert drawn[y, x].mean() < 100


def test_sphere_collider_is_drawn_with_its_radius():
    ball = {"kind": "sphere", "center": (0.0, 1.0, 0.0), "radius": 1.0}
    camera = Camera((0, 1, 20), (0, 1, 0), fov=10)
    drawn, view = bare(frame(colliders=[ball]), camera=camera)
    changed = np.abs(drawn - background()).max(axis=2) > 2
    focal = view.camera.focal(SIZE[1])
    radius = focal * np.tan(np.arcsin(1.0 / 20.0))  # the outline of a ball in perspective
    assert changed.sum() == pytest.approx(np.pi * radius**2, rel=0.02)
    around = {"kind": "sphere", "center": (0.0, 0.5, 0.0), "radius": 30.0, "inside": True}
    within, _ = bare(frame(body(color=(0.1, 0.1, 0.1)), colliders=[around]), camera=camera, color="plain")
    assert within[SIZE[1] // 2, SIZE[0] // 2].mean() < 140  # the near side of the hollow ball is left out


def test_picture_is_bitwise_identical_for_any_number_of_threads():
    what = frame(body(), colliders=[FLOOR])
    before = get_threads()
    pictures = []
    try:
        for count in sorted({1, before}):
            set_threads(count)
            pictures.append(picture(what, size=SIZE))
    finally:
        set_threads(before)
    assert all((item == pictures[0]).all() for item in pictures)


def test_range_is_round_and_ignores_peaks():
    values = np.concatenate([np.linspace(0, 9.1e4, 2000), [5e6]])
    points = np.random.default_rng(0).uniform(0, 1, (2001, 3))
    triangles = np.arange(2001, dtype=np.int32).reshape(-1, 3)
    view = make_view([frame(body(points, triangles, values=values))])
    assert (view.legend.low, view.legend.high) == (0.0, 1e5)
    assert view.legend.exceeded
    assert view.legend.unit == "Pa"


def test_round_off_at_rest_is_not_coloured():
    view = make_view([frame(body(values=np.full(8, 1e-7)))])
    assert view.legend.high == 1.0


def test_scale_bar_has_the_stated_length():
    view = make_view([frame(body())], size=SIZE)
    length, pixels = scale_bar(view)
    camera = view.camera
    ends = np.array(camera.target) + np.array([[-0.5], [0.5]]) * length * camera.axes[0]
    seen = camera.project(ends, SIZE)
    assert np.linalg.norm(seen[1, :2] - seen[0, :2]) == pytest.approx(pixels)
    assert 0.06 * SIZE[0] < pixels <= 0.16 * SIZE[0] + 1e-9
    assert [format_length(x) for x in (2000.0, 5.0, 0.2, 0.002, 5e-6)] == [
        "2 km",
        "5 m",
        "20 cm",
        "2 mm",
        "5 µm",
    ]


def test_picture_file_and_array_agree(tmp_path):
    pixels = picture(frame(body()), tmp_path / "cube.png", size=SIZE, color="displacement")
    with Image.open(tmp_path / "cube.png") as image:
        np.testing.assert_array_equal(np.asarray(image), pixels)
    assert [path.name for path in tmp_path.iterdir()] == ["cube.png"]


def test_sequence_keeps_its_camera():
    moved = [frame(body(CUBE + np.array([i, 0, 0]))) for i in range(4)]
    painter = Painter(make_view(moved, size=SIZE))
    for i, what in enumerate(moved):
        changed = np.abs(painter.paint(what).astype(int) - painter.paint(frame()).astype(int)).max(axis=2) > 8
        x, y = painter.view.camera.project([[i, 0.5, 0.0]], SIZE)[0, :2].astype(int)
        assert changed[y, x]


@pytest.mark.parametrize(
    "options",
    [
        {"color": "heat"},
        {"size": (0, 10)},
        {"size": (100_000, 100)},
        {"backend": "opengl"},
        {"value_range": (1.0, 1.0)},
        {"value_range": (0.0, float("nan"))},
        {"camera": {"zoom": 2}},
    ],
)
def test_invalid_options_are_rejected(options):
    with pytest.raises(InputError):
        picture(frame(body()), **{"size": SIZE, **options})


def test_bodies_without_the_field_keep_their_own_colour():
    fields = {"displacement": Field(np.zeros((8, 3)), "m")}
    hard = BodyFrame("hard", "rigid", CUBE, CUBE, {}, SIDES, fields, (1.0, 0.0, 0.0))
    mixed, plain = frame(body(), hard), frame(hard)
    for color in (None, "von_mises"):
        soft, other = compose(mixed, make_view([mixed], color=color)).shapes
        assert soft.values is not None
        assert other.values is None
        assert other.color == pytest.approx([1.0, 0.0, 0.0])
    assert make_view([mixed]).legend is not None
    assert make_view([plain]).legend is None  # nothing was asked for
    with pytest.raises(
        InputError, match=r'no body can be coloured by "von_mises"; choose from plain, displacement$'
    ):
        make_view([plain], color="von_mises")
    assert make_view([frame()], color="von_mises").legend is None  # an empty world


def test_non_finite_values_are_rejected():
    broken = CUBE.copy()
    broken[3, 1] = np.nan
    with pytest.raises(InputError, match="not finite"):
        picture(frame(body(broken)), size=SIZE)
    with pytest.raises(InputError, match="not finite"):
        picture(frame(body(values=np.full(8, np.inf))), size=SIZE)


def test_both_renderers_agree_on_the_position_of_a_body():
    report = renderer_report()
    assert report["raster"].startswith("ok")
    if not report["pyvista"].startswith("ok"):
        pytest.skip(report["pyvista"])
    what = frame(body(color=(0.1, 0.2, 0.4)))
    pictures = {name: picture(what, size=SIZE, color="plain", backend=name) for name in ("raster", "pyvista")}
    dark = {name: pixels[:, :, 0] < 150 for name, pixels in pictures.items()}
    either, both = (dark["raster"] | dark["pyvista"]).sum(), (dark["raster"] & dark["pyvista"]).sum()
    assert both / either > 0.97


def test_base_install_draws_without_optional_packages():
    code = (
        "import sys, continua.render, continua.output;"
        "print([m for m in ('vtk', 'vtkmodules', 'pyvista', 'pxr', 'imageio_ffmpeg') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_legend_without_a_unit_shows_none():
    """Stretch and smoke density are plain numbers, and "m" alone would read as metres."""
    assert _scaled_unit(0.004, "") == (1.0, "")
    assert _scaled_unit(2e3, "1/s") == (1.0, "1/s")
    assert _scaled_unit(2e4, "Pa") == (1e3, "kPa")
    smoke = ct.Smoke((1.0, 1.0), (8, 8), name="smoke")
    water = ct.Fluid(block=((0, 0, 0), (0.2, 0.2, 0.2)), particle_radius=0.05, name="water")
    assert ct.World([smoke]).frame()["smoke"].fields["smoke"].unit == ""
    assert ct.World([water]).frame()["water"].fields["density_error"].unit == ""
