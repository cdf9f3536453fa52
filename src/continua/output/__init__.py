"""Where frames go: files for ParaView, USD and glTF viewers, meshes, pictures, films, and checkpoints."""

from continua.frames import RunInfo, Sink
from continua.output.make import SINK_KINDS, make_sink
from continua.output.vtu import VtuSink

__all__ = ["SINK_KINDS", "RunInfo", "Sink", "VtuSink", "make_sink"]
