"""Sinks by the short names that scenes and the command line use."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from typing import Any

from continua.errors import InputError
from continua.frames import Sink
from continua.output.glb import GlbSink
from continua.output.pictures import GifSink, Mp4Sink, PngSink, WebpSink
from continua.output.replay import HtmlSink
from continua.output.surface_files import ObjSink, PlySink
from continua.output.usd import UsdSink
from continua.output.vti import VtiSink
from continua.output.vtu import VtuSink

__all__ = ["SINK_KINDS", "make_sink"]

_MAKERS: dict[str, Callable[..., Sink]] = {
    "vtu": VtuSink,
    "vti": VtiSink,
    "usd": UsdSink,
    "glb": GlbSink,
    "ply": PlySink,
    "obj": ObjSink,
    "png": PngSink,
    "mp4": Mp4Sink,
    "webp": WebpSink,
    "gif": GifSink,
    "html": HtmlSink,
}
SINK_KINDS = tuple(_MAKERS)


def make_sink(kind: str, folder: str | os.PathLike[str], **options: Any) -> Sink:
    """Make a sink that writes to `folder`.

    Args:
        kind: One of `SINK_KINDS`.
        folder: Where the results of the run go; made when the sink is opened.
        options: Keywords of the sink's class.

    Raises:
        InputError: No sink has that name.
        MissingExtraError: The sink needs a package that is not installed.
    """
    if kind not in _MAKERS:
        near = difflib.get_close_matches(kind, SINK_KINDS, 1)
        hint = f'did you mean "{near[0]}"?' if near else f"choose from {', '.join(SINK_KINDS)}"
        raise InputError(f'there is no output format "{kind}"; {hint}')
    return _MAKERS[kind](folder, **options)
