"""The command line: `continua run`, `scenes`, `info`, `schema`, `mesh`, `studio`, `warmup`, `doctor`."""

from continua.cli.app import app, main

__all__ = ["app", "main"]
