"""Questions that the studio asks before it does something."""

from __future__ import annotations

from typing import Any

from continua.errors import ContinuaError

__all__ = ["QuestionError"]


class QuestionError(ContinuaError):
    """A command needs a confirmation first.

    Attributes:
        question: The message, the label of the button that confirms it, and the command that this button sends, ready
            for JSON.
    """

    def __init__(self, message: str, confirm: str, command: dict[str, Any]) -> None:
        super().__init__(message)
        self.question: dict[str, Any] = {"message": message, "confirm": confirm, "command": command}
