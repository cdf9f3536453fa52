"""Encoding of snapshots as messages for pages."""
