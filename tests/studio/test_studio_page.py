"""Drives the real page in headless Chromium, with real events, against a running session."""

import io
import itertools
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
import uvicorn
from PIL import Image
from studio_world import FragileWorld, make_session

from continua.studio.browser import find_browser
from continua.studio.server import create_app
from continua.studio.server.guard import Policy

pytestmark = pytest.mark.browser

TOKEN = "a-secret-for-tests"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-gpu",
    "--enable-unsafe-swiftshader",
]
SCENES = [{"name": "test", "description": "A beam that sags."}]


@contextmanager
def serving(session, port=0):
    """Serve a session in a thread, and yield its port."""
    app = create_app(session, SCENES, Policy(TOKEN))
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.02)
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(timeout=20)


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    program = find_browser()
    if program is None:
        pytest.skip("there is no Chromium on this machine")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def opened(browser, port, **options):
    """Open the page, wait until it draws, and check at the end that nothing went wrong in it."""
    options = {"viewport": {"width": 1280, "height": 720}, "color_scheme": "light", **options}
    context = browser.new_context(**options)
    context.set_default_timeout(60_000)
    page = context.new_page()
    errors, foreign = [], []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    address = f"http://127.0.0.1:{port}/"
    page.on("request", lambda r: None if r.url.startswith((address, "data:")) else foreign.append(r.url))
    page.goto(f"{address}?token={TOKEN}")
    page.wait_for_function("() => window.__continua?.frame() && window.__continua.drawn() > 0")
    yield page
    context.close()
    assert errors == []
    assert foreign == []  # the page works without a network


@pytest.fixture(scope="module")
def studio(browser):
    session = make_session()
    with serving(session) as port, opened(browser, port) as page:
        yield page, session


@pytest.fixture
def page(studio):
    """The shared page, at the start of the simulation and running."""
    page, _session = studio
    before = page.evaluate("() => __continua.frame().step")
    page.mouse.move(640, 80)
    page.keyboard.press("r")
    click_tool(page, "Play")
    page.wait_for_function(  # not once per picture: a busy machine draws so few that it would miss the start
        "most => __continua.frame().step > 0 && __continua.frame().step < most",
        arg=max(before, 400),
        polling=50,
    )
    return page


def click_tool(page, label):
    button = page.get_by_role("button", name=label, exact=True)
    if button.count():
        button.click()


def pause(page):
    click_tool(page, "Pause")
    page.get_by_role("button", name="Play", exact=True).wait_for()
    settle(page)


def until(page, condition, seconds=60):
    """Wait until a condition holds; a slow machine needs longer, a broken page never gets there."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not so after {seconds} s"
        page.wait_for_timeout(50)


def settle(page):
    """Wait until the page has shown the newest frame of a paused session."""
    steps = [-1]
    while len(steps) < 4 or len(set(steps[-4:])) > 1:
        steps.append(page.evaluate("() => __continua.frame().step"))
        page.wait_for_timeout(100)


def tip_height(page):
    """Mean height [m] of the nodes at the free end, as the page shows them."""
    rest = np.reshape(page.evaluate("() => __continua.rest(0)"), (-1, 3))
    positions = np.reshape(page.evaluate("() => __continua.positions(0)"), (-1, 3))
    return positions[np.isclose(rest[:, 0], 1.0), 1].mean()


def wait_for_full_resolution(page):
    """Wait until the view is drawn at full resolution; while it moves a slow machine reduces it."""
    page.wait_for_function("() => __continua.fullResolution()")


def canvas_pixels(page):
    wait_for_full_resolution(page)
    box = page.locator("canvas").first.bounding_box()
    # the middle of the view, free of the legend and the plots
    clip = {
        "x": box["x"] + 250,
        "y": box["y"] + 70,
        "width": box["width"] - 300,
        "height": box["height"] - 280,
    }
    picture = Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB")
    return np.asarray(picture, dtype=int)


def point_on_tip(page):
    """Return where a point of the front face, near the free end, is on the page now."""
    return page.evaluate(
        """() => {
            const rest = __continua.rest(0), now = __continua.positions(0);
            let best = -1;
            for (let i = 0; i < rest.length; i += 3) {
                const [x, y, z] = rest.slice(i, i + 3);
                if (x > 0.8 && x < 0.9 && z > 0.19 && Math.abs(y - 0.1) < 0.02) best = i;
            }
            return __continua.project(now[best], now[best + 1], now[best + 2]);
        }"""
    )


def test_page_shows_the_body(page):
    pause(page)
    pixels = canvas_pixels(page)
    # the body's colours are strong, the stage is grey: many pixels of both kinds
    saturation = pixels.max(axis=2) - pixels.min(axis=2)
    assert (saturation > 60).mean() > 0.02
    assert (saturation < 30).mean() > 0.3
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 200
    assert page.get_by_role("contentinfo", name="Status").inner_text().strip()
    assert page.get_by_label("Scene", exact=True).input_value() == "test"


def test_dragging_pulls_the_body_and_it_swings_back(page):
    pause(page)  # a body that stands still is where the mouse points at
    hanging = tip_height(page)
    x, y = point_on_tip(page)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - 150, steps=10)
    page.wait_for_function("() => __continua.pulls().length === 1")
    assert page.evaluate("() => __continua.pulls()[0].body") == "beam"
    page.wait_for_function("height => __continua.pulls()[0].target[1] > height", arg=hanging + 0.1)
    page.keyboard.press(" ")
    until(page, lambda: page.locator(".force-tag").inner_text().endswith("N"))
    until(page, lambda: tip_height(page) > hanging + 0.1)
    lifted = tip_height(page)
    camera = page.evaluate("() => __continua.camera()")
    page.mouse.up()
    page.wait_for_function("() => __continua.pulls().length === 0")
    until(page, lambda: tip_height(page) < lifted - 0.1)
    assert page.evaluate("() => __continua.camera()") == camera  # a pull does not turn the view


def test_dragging_beside_the_body_rotates_the_view(page, studio):
    pause(page)
    page.keyboard.press("f")
    camera = resting_camera(page)
    page.mouse.move(120, 250)
    page.mouse.down()
    page.mouse.move(220, 280, steps=5)
    assert page.evaluate("() => __continua.pulls()") == []
    page.mouse.up()
    until(page, lambda: np.linalg.norm(np.subtract(resting_camera(page), camera)) > 0.1)
    assert not studio[1].interaction.pulls
    page.keyboard.press("f")
    until(page, lambda: np.allclose(resting_camera(page), camera, rtol=0, atol=0.05))


def resting_camera(page):
    """Return where the camera comes to rest."""
    places = []
    while len(places) < 4 or not np.allclose(places[-4:], places[-1], rtol=0, atol=1e-6):
        places.append(page.evaluate("() => __continua.camera()"))
        page.wait_for_timeout(100)
    return places[-1]


def test_slider_changes_the_motion(page):
    slider = page.get_by_label("Young’s modulus", exact=True)
    slider.focus()
    page.keyboard.press("End")  # a hundred times stiffer
    until(page, lambda: tip_height(page) > 0.1 - 0.02)  # rises to its rest height, 0.1 m
    page.get_by_role("button", name="Young’s modulus: back to 200 kPa").click()
    until(page, lambda: tip_height(page) < 0.1 - 0.07)


def test_values_can_be_typed_with_units(page, studio):
    field = page.get_by_label("Young’s modulus in Pa")
    field.fill("3 MPa")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement === document.body")
    until(page, lambda: studio[1].state["values"]["beam/material/young"] == 3e6)
    assert field.input_value() == "3.00 MPa"
    field.fill("very soft")
    assert field.get_attribute("aria-invalid") == "true"
    page.keyboard.press("Enter")
    assert "not a number" in page.get_by_role("alert").inner_text()
    assert field.input_value() == "3.00 MPa"
    page.get_by_label("Density in kg/m³").fill("-1")
    page.keyboard.press("Enter")
    assert "greater than 0 kg/m³" in page.get_by_role("alert").last.inner_text()
    field.focus()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Young’s modulus: back to 200 kPa").click()
    until(page, lambda: studio[1].state["values"]["beam/material/young"] == 2e5)


def test_pin_is_switched_off_and_on_with_the_mouse(page):
    force = page.get_by_role("list").get_by_role("status")
    page.wait_for_function("() => __continua.frame().forces['beam/boundary/0']?.[1] > 0")
    assert force.inner_text().endswith("N")
    pin = page.get_by_label("Pin", exact=True)
    pin.click()
    page.wait_for_function("() => !('beam/boundary/0' in __continua.frame().forces)")
    held = [node for node in np.reshape(page.evaluate("() => __continua.rest(0)"), (-1, 3)) if node[0] < 1e-6]
    low = min(node[1] for node in held)
    until(page, lambda: lowest_pinned(page) < low - 0.01)
    pin.click()
    until(page, lambda: abs(lowest_pinned(page) - low) < 1e-6)


def lowest_pinned(page):
    rest = np.reshape(page.evaluate("() => __continua.rest(0)"), (-1, 3))
    positions = np.reshape(page.evaluate("() => __continua.positions(0)"), (-1, 3))
    return positions[rest[:, 0] < 1e-6, 1].min()


def test_settle_and_change_the_integrator(page, studio):
    page.get_by_role("button", name="Time and solver").click()
    page.get_by_label("Integrator", exact=True).select_option(label="Newmark's method")
    page.get_by_role("slider", name="Gamma").wait_for()
    until(page, lambda: studio[1].state["values"]["beam/integrator"] == "newmark")
    page.get_by_label("Integrator", exact=True).select_option(label="Implicit Euler")
    page.get_by_role("button", name="Time and solver").click()
    page.get_by_role("button", name="Settle").click()
    page.get_by_text("Settled with").wait_for()


def test_fields_change_the_picture(page):
    page.wait_for_timeout(600)
    pause(page)
    pictures = {}
    choice = page.get_by_label("Colour by")
    names = ("Displacement", "Von Mises stress", "Speed", "Stretch, farthest from 1", "Plain")
    for name in names:
        choice.select_option(label=name)
        page.wait_for_function("() => !document.querySelector('.legend')?.innerText.includes('…')")
        page.wait_for_timeout(500)
        pictures[name] = canvas_pixels(page)
    for a, b in itertools.pairwise(names):
        changed = np.abs(pictures[a] - pictures[b]).max(axis=2) > 12
        assert changed.mean() > 0.005, (a, b)
    assert page.locator(".legend").count() == 0
    choice.select_option(label="Inverted elements")
    page.get_by_text("1: yes").wait_for()
    choice.select_option(label="Displacement")
    assert "Displacement" in page.locator(".legend").inner_text()


def test_pause_step_and_reset(page):
    pause(page)
    before = page.evaluate("() => [__continua.frame().step, __continua.positions(0)]")
    page.wait_for_timeout(400)
    assert page.evaluate("() => [__continua.frame().step, __continua.positions(0)]") == before
    page.keyboard.press(".")
    page.wait_for_function("step => __continua.frame().step === step + 1", arg=before[0])
    page.keyboard.press("r")
    page.wait_for_function("() => __continua.frame().step === 0")
    assert page.evaluate("() => __continua.positions(0)") == page.evaluate("() => __continua.rest(0)")
    page.keyboard.press(" ")
    page.wait_for_function("() => __continua.frame().step > 3")


def test_busy_page_continues_with_the_newest_frame(page, studio):
    session = studio[1]
    before = page.evaluate("() => __continua.frame().seq")
    page.evaluate("() => { const end = performance.now() + 1500; while (performance.now() < end); }")
    page.wait_for_function("seq => __continua.frame().seq > seq + 3", arg=before)
    shown = page.evaluate("() => __continua.frame().seq")  # may have been on its way before the page was busy
    page.wait_for_function("seq => __continua.frame().seq > seq", arg=shown)
    lag = session.snapshot.seq - page.evaluate("() => __continua.frame().seq")
    assert lag < 25  # less than a second behind; thirty or more frames were never sent


def test_divergence_is_reported_and_the_page_stays_alive(browser):
    world = FragileWorld()
    with serving(make_session(world)) as port, opened(browser, port) as page:
        banner = page.get_by_role("alert")
        banner.wait_for()
        assert "unstable" in banner.inner_text()
        world.diverges = False
        banner.get_by_role("button").click()
        banner.wait_for(state="hidden")
        click_tool(page, "Play")
        page.wait_for_function("() => __continua.frame().step > 8")


def pull_by_touch(page):
    """Drag the body, which stands still, with a finger."""
    pause(page)
    x, y = point_on_tip(page)
    finger = page.context.new_cdp_session(page)
    finger.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    finger.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": x, "y": y - 60}]})
    page.wait_for_function("() => __continua.pulls().length === 1")
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_function("() => __continua.pulls().length === 0")


def test_narrow_dark_touch_page_and_lost_connection(browser):
    options = {"viewport": {"width": 390, "height": 780}, "color_scheme": "dark", "has_touch": True}
    with serving(make_session()) as port:
        manager = opened(browser, port, **options)
        page = manager.__enter__()
        assert page.locator(".panel").count() == 0
        assert page.evaluate("() => document.documentElement.dataset.theme") == "dark"
        width = page.evaluate("() => document.documentElement.scrollWidth")
        assert width == 390  # nothing sticks out
        pull_by_touch(page)
        page.get_by_role("button", name="Panel").tap()
        page.get_by_label("Density", exact=True).wait_for()
    page.get_by_text("Connection lost").wait_for()
    with serving(make_session(), port):
        page.get_by_text("Connection lost").wait_for(state="hidden")
        page.wait_for_function("() => __continua.frame()?.step > 2")
        # the browser itself reports each vain attempt to reconnect, so errors are not counted here
        page.context.close()
