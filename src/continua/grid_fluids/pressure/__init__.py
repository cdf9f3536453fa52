"""The pressure Poisson equation on cut cells: multigrid, ghost fluid, rigid coupling, wall forces."""
