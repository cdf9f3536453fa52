"""The scene editor: the document, its files, and templates."""
