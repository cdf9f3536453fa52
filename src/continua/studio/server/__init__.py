"""The web server of the studio, and its access control."""

from continua.studio.server.app import BackgroundServer, create_app, run
from continua.studio.server.guard import Guard, Policy

__all__ = ["BackgroundServer", "Guard", "Policy", "create_app", "run"]
