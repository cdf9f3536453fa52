"""The browser that draws the page without a window, for screenshots, tests and measurements."""

from __future__ import annotations

import os
import shutil

from continua.errors import InputError

__all__ = ["find_browser", "require_browser"]

_BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)


def find_browser() -> str | None:
    """Return a browser that can run headless, or None. CONTINUA_BROWSER names one, or "none".

    Raises:
        InputError: CONTINUA_BROWSER names a program that is not there.
    """
    wanted = os.environ.get("CONTINUA_BROWSER")
    if wanted == "none":
        return None
    if wanted:
        found = shutil.which(wanted)
        if found is None:
            raise InputError(f"there is no program '{wanted}'; correct or unset it", where="CONTINUA_BROWSER")
        return found
    return next(filter(None, map(shutil.which, _BROWSERS)), None)


def require_browser() -> str:
    """Return a browser that can run headless, or raise `ImportError`, as for a package that is not installed."""
    browser = find_browser()
    if browser is None:
        raise ImportError(
            "there is no Chromium, Chrome or Edge on this machine; CONTINUA_BROWSER names another"
        )
    return browser
