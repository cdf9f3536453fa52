"""Boundaries of particle fluids: how walls and bodies act on particles and particles on them."""
