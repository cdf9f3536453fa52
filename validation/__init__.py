"""Accuracy against exact solutions and independent codes: `python -m validation.NAME` prints a table."""
