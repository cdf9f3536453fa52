"""Keeps a document: saves it, saves it by itself while it is edited, and finds what a killed studio left behind."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from continua.errors import InputError
from continua.files import atomic_write
from continua.studio.editor.document import Document

__all__ = ["Desk"]

_PAUSE = 3.0  # s between the first edit that is not kept and the moment it is
_KEPT = ".continua"
_MOST_FILES = 200


class Desk:
    """A document, and its files in one folder.

    Attributes:
        document: What is edited.
        recoverable: Whether an earlier studio left edits of this scene that were not saved.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self._kept = document.version
        self._since: float | None = None
        self._files: list[str] = []
        self.trouble = ""
        self.recoverable = self._left_behind() is not None
        self.list_files()

    @property
    def _aside(self) -> Path:
        return self.document.folder / _KEPT / f"{self.document.stem}.autosave.yaml"

    def _left_behind(self) -> str | None:
        with suppress(OSError, UnicodeDecodeError):
            text = self._aside.read_text(encoding="utf-8")
            return text if text != self.document.yaml() else None
        return None

    def recover(self) -> None:
        """Take over what an earlier studio left behind, as an edit that can be taken back."""
        text = self._left_behind()
        self.recoverable = False
        if text is None:
            raise InputError("there is nothing to recover")
        self.document.replace(text, "recovering")

    def save(self, file: str | None) -> str:
        """Write the document into its file or a new one in the folder, and return the file's name."""
        name = file or self.document.file or f"{self.document.name}.yaml"
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_. -]{0,100}", name):
            raise InputError("a file name has letters, digits, '-', '_', '.' and spaces, and no folders")
        if not name.endswith((".yaml", ".yml")):
            name += ".yaml"
        old = self._aside
        self._write(self.document.folder / name)
        self.document.file = name
        self.document.saved = self._kept = self.document.version
        self._since = None
        self.recoverable = False
        with suppress(OSError):
            old.unlink()
        self.list_files()
        return name

    def keep(self, now: float | None = None, *, at_once: bool = False) -> None:
        """Save aside what was edited, if it is time to."""
        if self.document.version == self._kept:
            self._since = None
            return
        now = time.monotonic() if now is None else now
        if self._since is None:
            self._since = now
        if not at_once and now - self._since < _PAUSE:
            return
        self._since, self._kept = None, self.document.version
        if self.document.version == self.document.saved:
            with suppress(OSError):
                self._aside.unlink()
            return
        try:
            self._aside.parent.mkdir(exist_ok=True)
            self._write(self._aside)
            self.trouble = ""
        except InputError as error:
            self.trouble = f"edits are not kept aside: {error}"
        except OSError as error:
            self.trouble = f"edits are not kept aside: {error.strerror}"

    def list_files(self) -> None:
        """Look which scene files the folder has."""
        with suppress(OSError):
            found = [path.name for path in self.document.folder.glob("*.y*ml") if path.is_file()]
            self._files = sorted(name for name in found if not name.startswith("."))[:_MOST_FILES]

    def describe(self) -> dict[str, Any]:
        """Return all that the page needs to know, ready for JSON."""
        document = self.document
        return {
            "type": "document",
            "data": document.data,
            "version": document.version,
            "file": document.file,
            "files": self._files,
            "changed": document.version != document.saved,
            "undo": document.undo_text,
            "redo": document.redo_text,
            "recoverable": self.recoverable,
            "trouble": self.trouble,
        }

    def _write(self, path: Path) -> None:
        try:
            with atomic_write(path) as file:
                file.write(self.document.yaml().encode())
        except OSError as error:
            raise InputError(f"{path.name} cannot be written ({error.strerror})") from None
