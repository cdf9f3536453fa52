"""`continua doctor`: checks of the installation."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from importlib import metadata, util

from continua.cli.formatting import print_json
from continua.errors import InputError, install_command

__all__ = ["examine"]

EXTRAS = {
    "studio": ("the browser studio", ("starlette", "uvicorn", "websockets")),
    "render": ("PyVista pictures and films", ("pyvista", "imageio", "imageio_ffmpeg")),
    "usd": ("USD files", ("pxr",)),
    "tet": ("tetrahedra from surfaces", ("pytetwild",)),
    "fluid": ("surfaces of particle fluids", ("pysplashsurf",)),
}
PACKAGES = ("numpy", "scipy", "numba", "meshio", "pydantic", "h5py")


def examine(*, as_json: bool = False) -> bool:
    """Print a report of this machine; return whether the base installation works."""
    results = []
    for name, check in (
        ("continua", _versions),
        ("python", _python),
        ("threads", _threads),
        ("kernel cache", _cache),
        ("pictures", _renderer),
        ("browser", _browser),
        *((f"extra '{name}'", lambda name=name: _extra(name)) for name in EXTRAS),
        ("self-test", _self_test),
    ):
        mark, text = _try(check)
        results.append({"check": name, "state": mark, "text": text})
        if not as_json:
            print(f"{mark:4}  {name:<15}  {text}", flush=True)
    good = all(result["state"] != "FAIL" for result in results)
    if as_json:
        print_json(results)
        return good
    print(
        "\neverything needed works" if good else "\nsomething needed does not work: see the lines marked FAIL"
    )
    return good


def _try(check: Callable[[], tuple[str, str]]) -> tuple[str, str]:
    try:
        return check()
    except Exception as error:  # a broken installation can raise anything, and the report must continue
        return "FAIL", f"{type(error).__name__}: {error}"


def _versions() -> tuple[str, str]:
    listed = ", ".join(f"{name} {metadata.version(name)}" for name in PACKAGES)
    return "ok", f"{metadata.version('continua')} with {listed}"


def _python() -> tuple[str, str]:
    return "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}"


def _threads() -> tuple[str, str]:
    import numba
    import numpy as np

    from continua.numerics import dot, get_threads

    values = np.ones((100_000, 3))
    dot(values, values)  # the layer is chosen by the first parallel call
    return (
        "ok",
        f"{get_threads()} of {os.cpu_count()} processors, threading layer '{numba.threading_layer()}'",
    )


def _cache() -> tuple[str, str]:
    from continua.numerics.kernel_cache import cache_root

    root = cache_root()
    probe = root / f"probe-{os.getpid()}"
    try:
        root.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"")
        probe.unlink()
    except OSError:
        return "note", f"{root} is not writable: kernels are recompiled every time; set CONTINUA_CACHE"
    return "ok", str(root)


def _renderer() -> tuple[str, str]:
    from continua.render import renderer_report

    return "ok", "; ".join(f"{name}: {state}" for name, state in renderer_report().items())


def _browser() -> tuple[str, str]:
    from continua.studio.browser import find_browser

    try:
        found = find_browser()
    except InputError as error:
        return "note", str(error)
    if found is None:
        return "note", "no Chromium, Chrome or Edge found: `--screenshot` draws the bodies with the renderer"
    return "ok", f"{found} shows the studio and draws its screenshots"


def _extra(name: str) -> tuple[str, str]:
    what, modules = EXTRAS[name]
    missing = [module for module in modules if util.find_spec(module) is None]
    if missing:
        return "note", f"{what}: not installed; run  {install_command(name)}"
    return "ok", what


def _self_test() -> tuple[str, str]:
    """Drop a free block: its centre must fall by g t^2 / 2, up to the error of implicit Euler."""
    from continua.scene import parse_scene

    start = time.perf_counter()
    scene = parse_scene("bodies: [{type: soft, name: block, mesh: {type: box, cells: [2, 2, 2]}}]")
    world = scene.build()
    before = world.bodies[0].positions[:, 1].mean()
    steps, dt = 10, 0.01
    for _ in range(steps):
        world.step(dt)
    fallen = before - world.bodies[0].positions[:, 1].mean()
    expected = 9.81 * dt * dt * steps * (steps + 1) / 2
    if abs(fallen - expected) > 1e-4 * expected:  # the linear solver is not exact
        return "FAIL", f"a block fell {fallen:.9f} m in {steps * dt} s instead of {expected:.9f} m"
    return "ok", f"a block falls as it should ({time.perf_counter() - start:.1f} s)"
