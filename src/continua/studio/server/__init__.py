"""The web server of the studio, and its access control."""

from continua.studio.server.app import BackgroundServer, create_app, run
from continua.studio.server.guard import Guard, Policy, is_loopback

__all__ = ["BackgroundServer", "Guard", "Policy", "create_app", "is_loopback", "run"]
