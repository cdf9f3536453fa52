"""The registry of sinks, by the short names that scenes, the command line and the studio use."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
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

__all__ = ["SINKS", "SinkKind", "make_sink", "register_sink"]


@dataclass(frozen=True)
class SinkKind:
    """A registered sink.

    Attributes:
        sink: Its class, called with the folder of the run and the options.
        title: Its label in the studio's menu of exports; empty if the menu does not offer it.
    """

    sink: Callable[..., Sink]
    title: str = ""


_sinks: dict[str, SinkKind] = {  # `scene.formats` has the same names
    "html": SinkKind(HtmlSink, "Replay for any browser (HTML)"),
    "mp4": SinkKind(Mp4Sink, "Film (MP4)"),
    "webp": SinkKind(WebpSink, "Film (WebP)"),
    "gif": SinkKind(GifSink, "Film (GIF)"),
    "glb": SinkKind(GlbSink, "Animation (GLB)"),
    "usd": SinkKind(UsdSink, "Animation (USD)"),
    "vtu": SinkKind(VtuSink, "Frames for ParaView (VTU)"),
    "vti": SinkKind(VtiSink),
    "png": SinkKind(PngSink, "Pictures (PNG)"),
    "ply": SinkKind(PlySink, "Meshes (PLY)"),
    "obj": SinkKind(ObjSink, "Meshes (OBJ)"),
}
SINKS: Mapping[str, SinkKind] = MappingProxyType(_sinks)
"""All registered sinks by name."""


def register_sink(name: str, sink: Callable[..., Sink], *, title: str = "") -> None:
    """Register a sink, for `make_sink`, `--format` and `output: {formats: [...]}` of scenes.

    Args:
        name: Its short name, usually the extension of its files.
        sink: Its class, called with the folder of the run and the options.
        title: Its label in the studio's menu of exports; empty if the menu should not offer it.
    """
    from continua.scene.formats import register_format

    if name in _sinks:
        raise InputError(f'there is an output format "{name}" already; choose another name')
    _sinks[name] = SinkKind(sink, title)
    register_format(name)


def make_sink(kind: str, folder: str | os.PathLike[str], **options: Any) -> Sink:
    """Return a sink that writes to `folder`.

    Args:
        kind: One of `SINKS`.
        folder: Folder for the results of the run; created when the sink is opened.
        options: Keywords of the sink's class.

    Raises:
        InputError: No sink has that name.
        MissingExtraError: The sink needs a package that is not installed.
    """
    if kind not in _sinks:
        near = difflib.get_close_matches(kind, _sinks, 1)
        hint = f'did you mean "{near[0]}"?' if near else f"choose from {', '.join(_sinks)}"
        raise InputError(f'there is no output format "{kind}"; {hint}')
    return _sinks[kind].sink(folder, **options)
