"""Images on surfaces in pictures: the right colour at the right pixel, under perspective."""

import numpy as np
import pytest

import continua as ct
from continua.frames import BodyFrame, Frame
from continua.render import Camera, picture
from tests.checker import BLUE, GREEN, RED, cell_color, checker

SIZE = (320, 240)


def slanted_quad(texture=None, repeat=1.0, color=None):
    """Return a frame with a square of two triangles that recedes from the camera."""
    points = np.array([[-1.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, 0.6, -4.0], [-1.0, 0.6, -4.0]])
    uv = repeat * np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    triangles = np.array([[0, 1, 2], [0, 2, 3]], np.int32)
    body = BodyFrame(
        "quad", "rigid", points, points, {}, triangles, {}, color=color, uv=uv[triangles],
        texture=checker() if texture is None else texture,
    )  # fmt: skip
    return Frame(0, 0, 0.0, {"quad": body})


CAMERA = Camera(position=(0.3, 1.4, 4.0), target=(0.0, 0.2, -0.5), fov=45.0)


def pixel_of(point):
    x, y, depth = CAMERA.to_camera_space(np.array([point]))[0]
    focal = CAMERA.focal(SIZE[1])
    return SIZE[0] / 2 + focal * x / depth, SIZE[1] / 2 - focal * y / depth


def point_at(u, v):
    """Return the point of the quad at texture coordinates; it is a parallelogram, so these are affine."""
    return np.array([-1.0 + 2.0 * u, 0.6 * v, 1.0 - 5.0 * v])


def hue(color):
    """Return the colour's direction in linear light, which shading does not change for a matt surface."""
    light = (np.asarray(color, float) / 255.0) ** 2.2
    return light / np.linalg.norm(light)


@pytest.mark.parametrize("backend", ["raster", "pyvista"])
@pytest.mark.parametrize("repeat", [1.0, 2.0])
def test_every_cell_has_its_colour_where_perspective_puts_it(backend, repeat):
    if backend == "pyvista":
        pytest.importorskip("pyvista")
    pixels = picture(slanted_quad(repeat=repeat), size=SIZE, camera=CAMERA, backend=backend)
    cells, seen = int(8 * repeat), set()
    for i in range(cells):
        for j in range(cells):
            u, v = (i + 0.5) / cells, (j + 0.5) / cells
            near, far = pixel_of(point_at(u, v - 0.3 / cells)), pixel_of(point_at(u, v + 0.3 / cells))
            if abs(near[1] - far[1]) < 3.0:
                continue  # a cell of less than five rows is blurred into its neighbours
            x, y = pixel_of(point_at(u, v))
            found = hue(pixels[int(y), int(x)])
            wanted = cell_color(repeat * u, repeat * v)
            best = max((RED, BLUE, GREEN), key=lambda color: found @ hue(color))
            assert best == wanted, (u, v, pixels[int(y), int(x)])
            seen.add(wanted)
    assert seen >= {RED, BLUE}


def test_perspective_is_not_that_of_affine_interpolation():
    """The middle of the image is far above the middle of the square on the screen."""
    half = np.zeros((2, 2, 3), np.uint8)
    half[0], half[1] = RED, BLUE
    pixels = picture(slanted_quad(ct.Texture(np.repeat(half, 32, axis=0))), size=SIZE, camera=CAMERA)
    (x, low), (_, high) = pixel_of(point_at(0.5, 0.0)), pixel_of(point_at(0.5, 1.0))
    _, middle = pixel_of(point_at(0.5, 0.5))
    column = pixels[:, int(x)].astype(int)
    change = next(row for row in range(int(low) - 4, int(high), -1) if column[row, 0] > column[row, 2])
    assert change == pytest.approx(middle, abs=1.5)
    assert abs(middle - 0.5 * (low + high)) > 15.0


def test_the_factor_multiplies_light():
    gray = np.full((4, 4, 3), 255, np.uint8)
    whole, half = (
        picture(slanted_quad(ct.Texture(gray, (factor, factor, factor))), size=SIZE, camera=CAMERA)
        for factor in (1.0, 0.25)
    )
    x, y = (int(part) for part in pixel_of(point_at(0.5, 0.3)))
    linear = ((whole[y, x] / 255.0) ** 2.2, (half[y, x] / 255.0) ** 2.2)
    assert (linear[1] / linear[0]).mean() == pytest.approx(0.25, abs=0.08)  # a highlight is not multiplied


def test_a_field_replaces_the_image_and_pictures_without_images_do_not_change():
    frame = slanted_quad()
    body = frame["quad"]
    plain = Frame(
        0,
        0,
        0.0,
        {"quad": BodyFrame("quad", "rigid", body.positions, body.rest_positions, {}, body.triangles, {})},
    )
    without = picture(plain, size=SIZE, camera=CAMERA)
    assert (picture(frame, size=SIZE, camera=CAMERA) != without).any()
    from dataclasses import replace

    from continua.frames import Field

    values = {"velocity": Field(np.zeros((4, 3)), "m/s")}
    one, two = (Frame(0, 0, 0.0, {"quad": replace(found["quad"], fields=values)}) for found in (frame, plain))
    np.testing.assert_array_equal(
        picture(one, size=SIZE, camera=CAMERA, color="velocity"),
        picture(two, size=SIZE, camera=CAMERA, color="velocity"),
    )


def test_pictures_are_the_same_for_any_number_of_threads():
    frame = slanted_quad()
    before = ct.get_threads()
    pictures = []
    try:
        for threads in (1, 2):
            ct.set_threads(threads)
            pictures.append(picture(frame, size=SIZE, camera=CAMERA))
    finally:
        ct.set_threads(before)
    np.testing.assert_array_equal(*pictures)
