"""The default linear solver of a body."""

from __future__ import annotations

from continua.deformable.elements import Elements
from continua.errors import InputError
from continua.linalg import PCG, AutoSolver, LinearSolver, Multigrid, PMultigrid
from continua.registry import make_solver
from continua.validation import shortened

__all__ = ["choose_solver"]

CUT_RTOL = 1e-8
"""Tolerance of conjugate gradients for cut bodies. The smallest parts have little energy: at the default tolerance a
free piece of a beam with ten cuts is up to 16 % too fast, and of large beams some fly apart."""

MULTIGRID_FROM = 4_000
"""Nodes of order 1 from which multigrid is faster than conjugate gradients (`python -m benchmarks solvers`)."""

PMULTIGRID_FROM = 3_000
"""The same for orders 2 and 3."""


MIXED_FROM = 200
"""The same for bodies that average the change of volume with pressures as unknowns. For 1,225 nodes of order 2
conjugate gradients need 80 iterations at a Poisson's ratio of 0.49 and 1,100 at 0.4999, multigrid 12 and 21."""


def choose_solver(elements: Elements, requested: LinearSolver | str | None = None) -> LinearSolver:
    """Return the requested solver, also by its name, if it suits the elements.

    By default it is an automatic choice that starts from the number and order of the nodes; its `reason` says why.
    """
    if isinstance(requested, str):
        requested = make_solver(requested)
    n, order = elements.node_count, elements.order
    if isinstance(requested, PMultigrid) and order < 2:
        raise InputError("PMultigrid is for elements of order 2 or 3; take Multigrid for order 1")
    if requested is not None:
        if isinstance(requested, type) or not all(
            callable(getattr(requested, method, None)) for method in ("setup", "update", "solve")
        ):
            raise InputError(
                "a body's solver must be a linear solver such as PCG(), Multigrid() or Direct(), or a name such as "
                f"'multigrid', not {shortened(requested)}"
            )
        return requested
    threshold = PMULTIGRID_FROM if order > 1 else MULTIGRID_FROM
    if elements.has_pressure_unknowns:
        threshold = MIXED_FROM
    pcg, multigrid = PCG(), PMultigrid() if order > 1 else Multigrid()
    solver: PCG | Multigrid = pcg if n < threshold else multigrid
    how = f"are fewer than {threshold}" if n < threshold else f"are {threshold} or more"
    solver.reason = f"chosen because {n} nodes of order {order} {how}"
    if getattr(elements.mesh, "subdomains", None) is not None:
        pcg, solver = PCG(rtol=CUT_RTOL), multigrid
        solver.reason = (
            "chosen because the body is cut, and small parts of elements slow conjugate gradients down"
        )
    return AutoSolver(pcg, multigrid, solver)
