"""Sessions: the thread that owns the world, its commands, and what it publishes."""

from continua.studio.session.catalog import open_session
from continua.studio.session.session import Session
from continua.studio.session.snapshot import Listener, SessionScene, Snapshot, Stats

__all__ = ["Listener", "Session", "SessionScene", "Snapshot", "Stats", "open_session"]
