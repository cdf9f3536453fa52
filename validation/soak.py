"""Random input to the studio for minutes: clicks, drags, wheels, keys, sliders, resets, builds and other scenes.

A server and a real browser (Chromium, driven by Playwright) run for the given time. Printed are the actions, errors,
threads before and after, and the memory of the server and of the page's scripts. "Before" is after two rounds through
all scenes and tools, when everything is compiled and loaded.

Run: python -m validation.soak [--minutes 10] [--seed 1]
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from continua.studio.browser import require_browser
from continua.studio.server import BackgroundServer
from continua.studio.session.catalog import open_session
from continua.studio.session.session import Session

SCENES = ("beam", "jelly", "newton-cradle", "bridge")
ALLOWED = 50.0  # MB that memory may grow
ARGUMENTS = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
KEYS = (" ", ".", "r", "f", "w", "l", "k", "i", "p", "n", "g", "1", "2", "3", "0", "Escape")


class Soak:
    """A page, and random actions on it.

    Args:
        page: The page, of Playwright.
        session: The session behind it.
        rng: Source of random numbers.
    """

    def __init__(self, page: Any, session: Session, rng: random.Random) -> None:
        self.page, self.session, self.rng = page, session, rng
        self.done: Counter[str] = Counter()
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(f"page: {error}"))
        page.on("console", lambda m: self.errors.append(f"console: {m.text}") if m.type == "error" else None)

    def point(self) -> tuple[float, float]:
        """Return a random point in the view [px]."""
        return self.rng.uniform(230, 960), self.rng.uniform(130, 640)

    def click(self) -> None:
        """Click somewhere in the view."""
        self.page.mouse.click(*self.point())

    def drag(self) -> None:
        """Drag through random points with any tool and button."""
        button = self.rng.choice(("left", "left", "left", "right", "middle"))
        self.page.mouse.move(*self.point())
        self.page.mouse.down(button=button)
        for _ in range(self.rng.randint(1, 4)):
            self.page.mouse.move(*self.point(), steps=4)
        self.page.mouse.up(button=button)

    def wheel(self) -> None:
        """Turn the wheel."""
        self.page.mouse.move(*self.point())
        self.page.mouse.wheel(0, self.rng.uniform(-300, 300))

    def key(self) -> None:
        """Press a key of the page."""
        self.page.keyboard.press(self.rng.choice(KEYS))

    def color(self) -> None:
        """Colour by another field."""
        self.page.get_by_role("tab", name="Live").click()
        choice = self.page.get_by_label("Colour by")
        choice.select_option(index=self.rng.randrange(choice.locator("option").count()))

    def slide(self) -> None:
        """Move a slider of the panel."""
        self.page.get_by_role("tab", name="Live").click()
        sliders = self.page.locator("aside input[type=range]")
        if count := sliders.count():
            slider = sliders.nth(self.rng.randrange(count))
            slider.focus()
            self.page.keyboard.press(self.rng.choice(("ArrowLeft", "ArrowRight", "PageUp", "PageDown")))

    def reset(self) -> None:
        """Go back to the start, and play."""
        self.page.keyboard.press("Escape")
        self.page.get_by_role("button", name="Back to the start").first.click()
        self.play()

    def play(self) -> None:
        """Play, if it is paused."""
        from playwright.sync_api import TimeoutError as LateError

        button = self.page.locator('button[aria-label="Play"]:enabled')
        if button.count():
            with suppress(LateError):  # it has become the pause button meanwhile
                button.click(timeout=5000)

    def undo(self) -> None:
        """Undo or redo."""
        self.page.keyboard.press(self.rng.choice(("Control+z", "Control+y")))

    def switch(self, scene: str | None = None) -> None:
        """Open another scene."""
        scene = scene or self.rng.choice(SCENES)
        self.page.locator("select.scene-picker").select_option(value=scene)
        self.wait(lambda: self.session.state["scene"] == scene and not self.session.state["busy"])
        self.wait(lambda: self.page.evaluate("() => __continua.frame()?.step >= 0"))

    def wait(self, condition: Callable[[], bool], seconds: float = 1500.0) -> None:
        """Wait until a condition holds; the first scene may have to compile."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError("the studio did not answer")
            self.page.wait_for_timeout(50)

    def act(self) -> None:
        """Do a random action, with the frequencies of a user."""
        acts = {
            self.drag: 8, self.click: 4, self.wheel: 3, self.key: 4, self.color: 1, self.slide: 2,
            self.reset: 1, self.play: 1, self.undo: 1, self.switch: 0.4,
        }  # fmt: skip
        (act,) = self.rng.choices(list(acts), list(acts.values()))
        self.done[act.__name__] += 1
        act()

    def answers(self) -> bool:
        """Return whether the session still steps and the page still draws."""
        self.page.keyboard.press("Escape")
        self.switch("beam")
        self.play()
        before = self.session.snapshot.seq
        self.wait(lambda: self.session.snapshot.seq > before + 5, 60.0)
        self.wait(lambda: self.page.evaluate("() => __continua.frame().seq") > before, 60.0)
        return self.session.state["error"] is None


def memory() -> float:
    """Return the memory of this process [MB]."""
    gc.collect()
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return float(line.split()[1]) / 1024
    return 0.0


def heap(page: Any) -> float:
    """Return the memory of the page's scripts [MB], after its garbage is collected."""
    tools = page.context.new_cdp_session(page)
    tools.send("HeapProfiler.collectGarbage")
    used = tools.send("Runtime.getHeapUsage")["usedSize"] / 2**20
    tools.detach()
    return float(used)


def main() -> int:
    """Run the soak test and print the result; return 1 if something went wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    from playwright.sync_api import sync_playwright

    program = require_browser()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        session, scenes = open_session("beam", Path(folder))
        server = BackgroundServer(session, scenes)
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.goto(server.address)
        page.wait_for_function("() => window.__continua?.frame() && __continua.drawn() > 0")
        soak = Soak(page, session, random.Random(args.seed))
        trouble = run(soak, args.minutes)
        browser.close()
        server.stop()
    left = [t.name for t in threading.enumerate() if t.name.startswith("continua")]
    if left:
        trouble.append(f"threads that did not end: {', '.join(left)}")
    print("\n".join(f"FAILED: {line}" for line in trouble) or "passed")
    return bool(trouble)


def run(soak: Soak, minutes: float) -> list[str]:
    """Act for some minutes and return what went wrong."""
    for _ in range(2):
        for scene in SCENES:
            soak.switch(scene)
            soak.play()
            for tool in ("Escape", "k", "k", "i", "i", "p", "g"):
                soak.page.keyboard.press(tool)
                soak.drag()
                soak.drag()
            for _ in range(6):
                soak.color()
    soak.switch("beam")
    before, scripts, threads = memory(), heap(soak.page), threading.active_count()
    end = time.monotonic() + 60.0 * minutes
    trouble: list[str] = []
    history, next_look = [before], time.monotonic() + 15.0
    while time.monotonic() < end:
        try:
            soak.act()
        except Exception as error:  # errors are the result
            trouble.append(f"{type(error).__name__}: {str(error).splitlines()[0]}")
            if len(trouble) > 5:
                break
        if time.monotonic() > next_look:
            history.append(memory())
            next_look += 15.0
    if not soak.answers():
        trouble.append(f"the session stopped: {soak.session.state['error']}")
    after, scripts_after, threads_after = memory(), heap(soak.page), threading.active_count()
    print(f"{minutes:g} min: " + ", ".join(f"{count} {name}" for name, count in soak.done.most_common()))
    print(
        f"memory of the server {before:.0f} -> {after:.0f} MB, of scripts {scripts:.1f} -> {scripts_after:.1f} MB"
    )
    print("every 15 s:", " ".join(f"{value:.0f}" for value in history), "MB")
    print(f"threads {threads} -> {threads_after}")
    trouble += soak.errors[:10]
    if after - before > ALLOWED:
        trouble.append(f"memory grew by {after - before:.0f} MB")
    if scripts_after - scripts > ALLOWED:
        trouble.append(f"memory of scripts grew by {scripts_after - scripts:.0f} MB")
    if threads_after > threads:
        trouble.append(f"{threads_after - threads} more threads")
    return trouble


if __name__ == "__main__":
    sys.exit(main())
