"""Volume rendering in the real page: transmittance, deforming voxel images, smoke around objects."""

import io

import numpy as np
import pytest
from PIL import Image
from test_studio_page import browser, opened, serving, until, wait_for_full_resolution  # noqa: F401

import continua as ct
from continua.render.colors import color_map
from continua.studio.session.session import Session
from continua.studio.session.snapshot import SessionScene

pytestmark = pytest.mark.browser

LEAST = 0.05  # the smallest opacity, as a multiple of the usual
THICKNESS = 28.0 * LEAST  # of an image at its largest value, over the longest side of a body


def still(voxels, matrix=None):
    """Return a session with a unit cube that carries an image, maybe deformed."""
    cube = ct.SoftBody(ct.mesh.box(cells=(2, 2, 2)), material=ct.Linear(young=1e5), name="cube")
    cube.voxels = ct.Voxels.around(voxels, cube.mesh.bounds)
    if matrix is not None:
        state = cube.state()
        key = next(name for name, values in state.items() if values.shape == cube.positions.shape)
        cube.restore({**state, key: cube.rest_positions @ np.transpose(matrix)})
    return paused(ct.World([cube], gravity=(0, 0, 0)))


def paused(world):
    """Return a session that shows a world and does not run."""
    return Session("test", lambda _: SessionScene(world, play=False))


def shot(page):
    """Return the view once two pictures in a row are the same; around it the page is black."""
    wait_for_full_resolution(page)
    box = page.get_by_test_id("viewport").bounding_box()
    pictures = [np.zeros((720, 1280, 3)), np.ones((720, 1280, 3))]

    def take():
        new = np.zeros_like(pictures[0])
        seen = np.asarray(Image.open(io.BytesIO(page.screenshot(clip=box))).convert("RGB"))
        x, y = round(box["x"]), round(box["y"])
        new[y : y + seen.shape[0], x : x + seen.shape[1]] = seen
        pictures.append(new)
        return np.array_equal(pictures[-2], new)

    until(page, take)
    return pictures[-1]


def show(page, field):
    page.get_by_label("Colour by").select_option(label=field)
    page.get_by_role("radiogroup", name="Interior").get_by_role("radio", name="Volume").click()
    page.wait_for_function("() => !document.querySelector('.legend')?.innerText.includes('…')")


def on_page(page, point):
    x, y = page.evaluate("p => __continua.project(...p)", list(point))
    return round(x), round(y)


def path_length_in_cube(eye, point):
    """Return the length inside the unit cube of the ray from the eye through a point."""
    way = (point - eye) / np.linalg.norm(point - eye)
    one, two = -eye / way, (1.0 - eye) / way
    return np.maximum(one, two).min() - np.minimum(one, two).max()


def test_transmittance_through_a_cube(browser):  # noqa: F811
    session = still(np.ones((4, 4, 4)))
    with serving(session) as port, opened(browser, port, color_scheme="dark") as page:
        show(page, "Voxel data")
        page.get_by_role("slider", name="Opacity").press("Home")
        eye = np.array(page.evaluate("() => __continua.camera()"))
        spots = np.array([[0.5, 0.5, 0.5], [0.8, 0.7, 0.5], [0.3, 0.3, 0.6]])
        places = [on_page(page, spot) for spot in spots]
        until(page, lambda: page.evaluate("() => __continua.drawn()") > 3)
        seen = shot(page)
        page.get_by_role("radiogroup", name="Clip normal to").get_by_role("radio", name="x").click()
        page.get_by_role("slider", name="Clip position").press("Home")  # all of it is cut away
        until(page, lambda: np.abs(shot(page) - seen).max() > 20)
        behind = shot(page)
    color = np.round(255.0 * color_map())[-1]
    for spot, (x, y) in zip(spots, places):
        red = np.s_[y - 4 : y + 5, x - 4 : x + 5, 0]  # there they differ most, so that bytes are exact enough
        left = (seen[red].mean() - color[0]) / (behind[red].mean() - color[0])
        assert left == pytest.approx(np.exp(-THICKNESS * path_length_in_cube(eye, spot)), rel=0.04), spot


def spot_image():
    """Return an image with one bright spot, between the nodes of the cube."""
    values = np.zeros((40, 40, 40))
    values[30:34, 26:30, 28:32] = 1.0
    return values, np.array([0.8, 0.7, 0.75])


def test_voxel_image_deforms_with_the_body(browser):  # noqa: F811
    values, rest = spot_image()
    stretched = np.array([[2.0, 0.0, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
    session = still(values, stretched)
    with serving(session) as port, opened(browser, port) as page:
        plain = shot(page)
        inside = page.get_by_role("radiogroup", name="Interior")
        show(page, "Voxel data")
        until(page, lambda: np.abs(shot(page) - plain).max() > 30)
        seen = shot(page)
        x, y = on_page(page, stretched @ rest)
        plots = page.get_by_role("img", name="Plot of energy over time").bounding_box()["y"]
        inside.get_by_role("radio", name="Nothing").click()
        until(page, lambda: not np.array_equal(shot(page), seen))
    yellow = seen[:, :, 1] - seen[:, :, 2]  # no grey, and no blue of the matter around
    yellow[:130] = yellow[round(plots) - 50 :] = 0.0  # nor the legend and the plots
    rows, columns = np.nonzero(yellow > 0.5 * yellow.max())
    assert yellow.max() > 50
    assert abs(columns.mean() - x) < 3
    assert abs(rows.mean() - y) < 3
    assert columns.std() < 12
    assert rows.std() < 12


def smoky(amount):
    """Return a session with even smoke in a box, and a ball that stands in the middle of it."""
    smoke = ct.Smoke((1.0, 1.0, 1.0), (8, 8, 8), obstacles=[ct.Sphere((0.5, 0.5, 0.5), 0.2)], name="smoke")
    smoke.set_smoke(np.full((8, 8, 8), amount))
    return paused(ct.World([smoke]))


def test_smoke_attenuates_objects_inside_and_behind_it(browser):  # noqa: F811
    pictures = []
    spots = np.array([[0.5, 0.5, 0.5], [0.15, 0.5, 0.5]])  # on the ball, and beside it
    for amount in (0.0, 0.5):
        with serving(smoky(amount)) as port, opened(browser, port) as page:
            page.get_by_label("Colour by").select_option(label="Smoke")
            style = page.get_by_role("radiogroup", name="Draw as")
            volume = shot(page)
            style.get_by_role("radio", name="Mid-plane").click()
            until(page, lambda: np.abs(shot(page) - volume).max() > 10)  # noqa: B023
            sheet = shot(page)
            style.get_by_role("radio", name="Volume").click()
            page.get_by_role("slider", name="Opacity").press("Home")
            until(page, lambda: np.abs(shot(page) - sheet).max() > 10)  # noqa: B023
            eye = np.array(page.evaluate("() => __continua.camera()"))
            places = [on_page(page, spot) for spot in spots]
            pictures.append(shot(page))
    ways = np.array([path_length_in_cube(eye, spot) for spot in spots])
    ways[0] = 0.5 * ways[0] - 0.2  # it ends at the ball
    bare, dim = pictures
    gray = np.array([0x5B, 0x64, 0x72])
    for (x, y), way in zip(places, ways):
        patch = np.s_[y - 4 : y + 5, x - 4 : x + 5]
        left = ((dim[patch] - gray).mean((0, 1)) / (bare[patch] - gray).mean((0, 1))).mean()
        assert left == pytest.approx(np.exp(-26.0 * LEAST * 0.5 * way), rel=0.04)
