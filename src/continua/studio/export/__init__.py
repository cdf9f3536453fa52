"""Exports: runs in a separate process, and recordings."""
