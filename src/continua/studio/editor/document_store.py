"""Saves a document, autosaves it while it is edited, and recovers unsaved edits of an earlier session."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from continua.atomic_io import atomic_write
from continua.errors import InputError
from continua.studio.editor.document import Document
from continua.studio.editor.questions import QuestionError

__all__ = ["DocumentStore"]

_AUTOSAVE_DELAY = 3.0  # s from the first edit that is not autosaved
_AUTOSAVE_FOLDER = ".continua"
_MAX_FILES = 200


class DocumentStore:
    """A document and its files in one folder.

    Attributes:
        document: The document.
        recoverable: Whether an earlier session left unsaved edits of this scene.
        autosave_error: Why the last autosave failed, in a sentence, or "".
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self._autosaved = document.version
        self._edited_at: float | None = None
        self._files: list[str] = []
        self.autosave_error = ""
        self.recoverable = self._unsaved_text() is not None
        self.list_files()

    @property
    def _autosave_path(self) -> Path:
        return self.document.folder / _AUTOSAVE_FOLDER / f"{self.document.stem}.autosave.yaml"

    def _unsaved_text(self) -> str | None:
        with suppress(OSError, UnicodeDecodeError):
            text = self._autosave_path.read_text(encoding="utf-8")
            return text if text != self.document.yaml() else None
        return None

    def recover(self) -> None:
        """Restore the unsaved edits of an earlier session; the edit can be undone."""
        text = self._unsaved_text()
        self.recoverable = False
        if text is None:
            raise InputError("there is nothing to recover")
        self.document.replace(text, "recovering")

    def save(self, file: str | None, *, replace: bool = False) -> str:
        """Write the document to its file or to another one in the folder, and return the file's name.

        Args:
            file: Name of the file; by default the document's own, or that of the scene.
            replace: Whether another file that exists is replaced.

        Raises:
            QuestionError: Another file of this name exists.
        """
        name = file or self.document.file or f"{self.document.name}.yaml"
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_. -]{0,100}", name):
            raise InputError("a file name may have letters, digits, '-', '_', '.' and spaces, and no folders")
        if not name.endswith((".yaml", ".yml")):
            name += ".yaml"
        path = self.document.folder / name
        if not (replace or self._is_own(path)) and path.exists():
            raise QuestionError(
                f"{name} exists in this folder. Replace it?",
                "Replace",
                {"type": "save", "file": name, "replace": True},
            )
        old = self._autosave_path
        self._write(path)
        self.document.file = name
        self.document.saved = self._autosaved = self.document.version
        self._edited_at = None
        self.recoverable = False
        with suppress(OSError):
            old.unlink()
        self.list_files()
        return name

    def _is_own(self, path: Path) -> bool:
        """Return whether a file is the one that the document was read from or saved to."""
        if self.document.file is None:
            return False
        with suppress(OSError):  # it may be gone
            return path.samefile(self.document.folder / self.document.file)
        return False

    def autosave(self, now: float | None = None, *, force: bool = False) -> None:
        """Autosave edits if it is time to."""
        if self.document.version == self._autosaved:
            self._edited_at = None
            return
        now = time.monotonic() if now is None else now
        if self._edited_at is None:
            self._edited_at = now
        if not force and now - self._edited_at < _AUTOSAVE_DELAY:
            return
        self._edited_at, self._autosaved = None, self.document.version
        if self.document.version == self.document.saved:
            with suppress(OSError):
                self._autosave_path.unlink()
            return
        try:
            self._autosave_path.parent.mkdir(exist_ok=True)
            self._write(self._autosave_path)
            self.autosave_error = ""
        except InputError as error:
            self.autosave_error = f"edits are not autosaved: {error}"
        except OSError as error:
            self.autosave_error = f"edits are not autosaved: {error.strerror}"

    def list_files(self) -> None:
        """Update the list of scene files in the folder."""
        with suppress(OSError):
            found = [path.name for path in self.document.folder.glob("*.y*ml") if path.is_file()]
            self._files = sorted(name for name in found if not name.startswith("."))[:_MAX_FILES]

    def describe(self) -> dict[str, Any]:
        """Return the document and the state of its files, ready for JSON."""
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
            "autosaveError": self.autosave_error,
        }

    def _write(self, path: Path) -> None:
        try:
            with atomic_write(path) as file:
                file.write(self.document.yaml().encode())
        except OSError as error:
            raise InputError(f"{path.name} cannot be written ({error.strerror})") from None
