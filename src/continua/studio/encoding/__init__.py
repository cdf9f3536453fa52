"""Encoding of snapshots as messages for pages."""

from continua.studio.encoding.frame_encoder import FrameEncoder

__all__ = ["FrameEncoder"]
