"""Sinks: files for ParaView, USD and glTF viewers, meshes, pictures, films, replays; and checkpoints."""

from continua import checkpoint
from continua.checkpoint import Checkpoint
from continua.frames import RunInfo, Sink
from continua.output.folder import OutputFolder
from continua.output.glb import GlbSink
from continua.output.pictures import GifSink, Mp4Sink, PngSink, WebpSink
from continua.output.registry import SINKS, make_sink, register_sink
from continua.output.replay import HtmlSink
from continua.output.surface_files import ObjSink, PlySink
from continua.output.usd import UsdSink
from continua.output.vti import VtiSink
from continua.output.vtu import VtuSink

__all__ = [
    "SINKS",
    "Checkpoint",
    "GifSink",
    "GlbSink",
    "HtmlSink",
    "Mp4Sink",
    "ObjSink",
    "OutputFolder",
    "PlySink",
    "PngSink",
    "RunInfo",
    "Sink",
    "UsdSink",
    "VtiSink",
    "VtuSink",
    "WebpSink",
    "checkpoint",
    "make_sink",
    "register_sink",
]
