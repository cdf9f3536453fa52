"""The scene editor: the document, its files, and templates."""

from continua.studio.editor.document import Document, Edit, InvalidEditError
from continua.studio.editor.document_store import DocumentStore
from continua.studio.editor.scene_editor import SceneEditor

__all__ = ["Document", "DocumentStore", "Edit", "InvalidEditError", "SceneEditor"]
