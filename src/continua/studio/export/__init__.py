"""Exports: runs in a separate process, and recordings."""

from continua.studio.export.manager import ExportManager, export_formats
from continua.studio.export.recorder import Recorder

__all__ = ["ExportManager", "Recorder", "export_formats"]
