"""The studio in a notebook: the same page in a frame, served by a thread of this process."""

from __future__ import annotations

import html
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

from continua.errors import InputError
from continua.studio.server import BackgroundServer
from continua.studio.session.catalog import open_session

if TYPE_CHECKING:
    from continua.scene import Scene
    from continua.world import World

__all__ = ["NotebookView"]


class NotebookView:
    """A scene or world in the studio, shown as the result of a notebook cell.

    The page is served on this machine only, and only with the secret that is part of its address. The thread ends with
    `close`, with the view itself, or with the process.

    Args:
        scene: A world, a scene, the name of a shipped one, or the path of a scene file.
        height: Height of the frame [px].

    Attributes:
        address: Address of the page; it can also be opened in its own window.
    """

    def __init__(self, scene: Scene | World | str | Path, height: int = 600) -> None:
        if not 100 <= height <= 10_000:
            raise InputError(f"the height of a view must be 100 to 10000 pixels, not {height}")
        self.height = int(height)
        self.session, scenes = open_session(scene)
        server = BackgroundServer(self.session, scenes, frame_ancestors="*")  # a notebook is another site
        self._close = weakref.finalize(self, server.stop)
        # browsers send no cookies in a frame of another site, so the path has the token
        self.address = f"http://127.0.0.1:{server.port}/{server.policy.token}/"

    def close(self) -> None:
        """End the page and its simulation; a second call does nothing."""
        self._close()

    @property
    def closed(self) -> bool:
        """Whether the view is closed."""
        return not self._close.alive

    def _repr_html_(self) -> str:
        """Return the frame as HTML."""
        return (
            f'<iframe src="{html.escape(self.address)}" title="Continua studio" width="100%" '
            f'height="{self.height}" style="border:0;border-radius:10px" allow="clipboard-write"></iframe>'
        )

    def __repr__(self) -> str:
        return f"NotebookView({'closed' if self.closed else self.address})"
