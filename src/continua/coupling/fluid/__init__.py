"""Coupling of fluids with bodies."""
