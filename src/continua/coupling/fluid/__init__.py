"""Fluids coupled to solid bodies."""
