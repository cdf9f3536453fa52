"""Pressure solvers, which keep particle fluids incompressible."""
