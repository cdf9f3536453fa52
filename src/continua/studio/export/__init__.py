"""Exports: runs in a separate process, and recordings."""

from continua.studio.export.manager import FORMATS, ExportManager
from continua.studio.export.recorder import Recorder

__all__ = ["FORMATS", "ExportManager", "Recorder"]
