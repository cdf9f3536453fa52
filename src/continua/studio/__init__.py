"""The studio: a page in the browser to edit and run a scene, and to pull bodies with the mouse.

It needs the `studio` extra. The simulation runs in its own thread (`session`); a web server (`server`) sends each page
what changed (`encoding`) through one WebSocket.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from continua.errors import MissingExtraError

if TYPE_CHECKING:
    from continua.scene import Scene
    from continua.studio.notebook import NotebookView
    from continua.world import World

__all__ = ["check_extra", "serve", "view"]


def serve(
    scene: Scene | World | str | Path | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 8787,
    token: str | None = None,
    open_browser: bool = True,
) -> None:
    """Edit and run a scene in the browser until Ctrl-C.

    Args:
        scene: A scene, the name of a shipped one, the path of a scene file, or a world; an empty scene by default.
        host: Address to listen on; others than the loopback address open the studio to other machines.
        port: Port to listen on; 0 picks a free one.
        token: Secret that every request must carry, in the address that is printed and opened; a new one by default.
        open_browser: Open the page in the default browser.

    Raises:
        InputError: The scene cannot be used, or the port is taken.
        MissingExtraError: The `studio` extra is not installed.
    """
    check_extra()
    from continua.studio.server import run

    run(scene, host=host, port=port, token=token, open_browser=open_browser)


def view(scene: Scene | World | str | Path, *, height: int = 600) -> NotebookView:
    """Show a scene or world in a notebook: the page of the studio in a frame below the cell.

    The server runs in a thread of this process, listens on this machine only, and requires the secret in the frame's
    address; the notebook must run on the machine whose browser shows it.

    Args:
        scene: A world, a scene, the name of a shipped one, or the path of a scene file.
        height: Height of the frame [px].

    Returns:
        The view; `close()` ends it.

    Raises:
        InputError: The scene cannot be used.
        MissingExtraError: The `studio` extra is not installed.
    """
    check_extra()
    from continua.studio.notebook import NotebookView

    return NotebookView(scene, height)


def check_extra() -> None:
    """Raise `MissingExtraError` if the packages of the `studio` extra are not installed."""
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
        import websockets  # noqa: F401
    except ImportError:
        raise MissingExtraError("The studio", "studio") from None
