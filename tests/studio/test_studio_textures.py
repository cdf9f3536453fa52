"""Images on surfaces: sent once to a page, and drawn where no field colours the body."""

import io

import numpy as np
import pytest
from PIL import Image
from studio_world import make_session
from test_studio_page import browser, opened, serving, until  # noqa: F401
from test_studio_protocol import unpack

import continua as ct
from continua.frames import RunInfo
from continua.output import make_sink
from continua.studio.encoding.frame_encoder import FrameEncoder
from tests.checker import BLUE, GREEN, RED, cell_color, checker, corner_set, textured_box


def make_world():
    tets = ct.mesh.box(size=(1.0, 1.0, 1.0), cells=(2, 2, 2))
    soft = ct.SoftBody(tets, material=ct.Corotated(young=1e6), skin=textured_box(cells=2), name="soft")
    soft.pin(where=lambda x: x[:, 1] < 1e-6)
    stone = textured_box().transformed(translate=(1.6, 0.0, 0.0))
    rigid = ct.RigidBody(stone, density=1000.0, name="rigid", motion=ct.Motion(lambda _t, x: x))
    shape = ct.MeshShape(textured_box().transformed(translate=(-1.6, 0.0, 0.0)))
    return ct.World([soft, rigid], dt=0.02, gravity=(0.0, 0.0, 0.0), colliders=[shape], name="checkers")


@pytest.fixture(scope="module")
def world():
    return make_world()


def test_the_image_is_sent_once_and_coordinates_with_each_mesh(world):
    session = make_session(world)
    encoder = FrameEncoder()
    _, header, arrays = unpack(encoder.encode_topology(session.snapshot))
    sent = [name for name in arrays if name.startswith("texture/")]
    assert len(sent) == 1  # three surfaces, one image
    name = sent[0].removeprefix("texture/")
    assert [body["texture"]["name"] for body in header["bodies"]] == [name, name]
    assert header["colliders"][0]["texture"]["name"] == name
    np.testing.assert_array_equal(
        np.asarray(Image.open(io.BytesIO(arrays[sent[0]].tobytes()))), checker().pixels
    )
    source = textured_box(cells=2)
    np.testing.assert_allclose(
        corner_set(arrays["0/embedded/rest"], arrays["0/embedded/triangles"], arrays["0/embedded/uv"]),
        corner_set(source.points, source.triangles, source.uv),
        atol=1e-6,
    )
    assert arrays["1/uv"].shape == (12, 3, 2)
    assert arrays["collider/0/uv"].shape == (12, 3, 2)
    _, _, arrays = unpack(encoder.encode_frame(session.snapshot))
    assert not any("texture" in name or name.endswith("uv") for name in arrays)
    encoder.set_clip_plane(0, 0.5, False)  # another topology of the same page: the image is there already
    _, _, arrays = unpack(encoder.encode_topology(session.snapshot))
    assert not any(name.startswith("texture/") for name in arrays)


def hue(color):
    light = (np.asarray(color, float) / 255.0) ** 2.2
    return light / np.linalg.norm(light)


def nearest(pixel):
    return max((RED, BLUE, GREEN), key=lambda color: hue(pixel) @ hue(color))


def wrong_cells(page, x0):
    """Return the cells with a wrong colour, of those in the middle of the front of a unit box that begins at `x0`."""
    pixels = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
    wrong = []
    for i in range(1, 7):
        for j in range(1, 7):
            u, v = (i + 0.5) / 8, (j + 0.5) / 8
            x, y = page.evaluate("([x, y, z]) => __continua.project(x, y, z)", [x0 + u, v, 1.0])
            if nearest(pixels[int(y), int(x)]) != cell_color(u, v):
                wrong.append((u, v, pixels[int(y), int(x)].tolist()))
    return wrong


def test_the_page_shows_the_image_until_a_field_replaces_it(browser, world):  # noqa: F811
    session = make_session(world)
    with serving(session) as port, opened(browser, port) as page:
        page.get_by_role("button", name="Pause", exact=True).click()
        page.get_by_label("Colour by").select_option(label="Plain")
        for x0 in (0.0, 1.6, -1.6):
            until(page, lambda x0=x0: wrong_cells(page, x0) == [])
        page.get_by_label("Colour by").select_option(label="Displacement")
        until(page, lambda: len(wrong_cells(page, 0.0)) > 10)
        assert wrong_cells(page, -1.6) == []  # colliders have no fields


def test_a_replay_shows_the_image(browser, world, tmp_path):  # noqa: F811
    sink = make_sink("html", tmp_path)
    sink.open(RunInfo(name="checkers", fps=10.0, seconds=0.1, view={"color": "plain"}))
    for frame in make_world().run(0.1, 10.0):
        sink.write(frame)
    (path,) = sink.close()
    context = browser.new_context(viewport={"width": 1280, "height": 720}, color_scheme="light")
    page = context.new_page()
    errors = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.goto(path.as_uri())
    page.wait_for_function("() => window.__continua?.frame() && window.__continua.drawn() > 0")
    for x0 in (0.0, 1.6, -1.6):
        until(page, lambda x0=x0: wrong_cells(page, x0) == [])
    context.close()
    assert errors == []
