"""Iterations of multigrid in conjugate gradients over Young's modulus, Poisson's ratio and contrast."""

from __future__ import annotations

import continua as ct
from benchmarks.bridge import solve_time, system
from benchmarks.report import Result

RTOL = 1e-6


def main(threads: int | None = None) -> Result:
    """Count iterations at n = 8 with dt = 20 ms, from zero to 1e-6."""
    ct.set_threads(threads if threads is not None else 2)
    mesh = ct.mesh.bridge(8)
    rows: list[dict[str, object]] = []
    counts = []
    cases = [(10.0**k, nu, 1.0) for nu in (0.3, 0.45) for k in range(3, 13)] + [
        (2e6, 0.3, 1e6),
        (2e3, 0.3, 1e9),
    ]
    for young, nu, contrast in cases:
        matrix, rhs, fixed = system(mesh, young=young, poisson=nu, contrast=contrast)
        line: dict[str, object] = {"E [Pa]": young, "nu": nu, "contrast": contrast}
        for name, solver in {
            "multigrid": ct.Multigrid(rtol=RTOL, fallback=False),
            "SSOR": ct.PCG(rtol=RTOL, max_iterations=20_000),
            "Jacobi": ct.PCG(rtol=RTOL, preconditioner="jacobi", max_iterations=20_000),
        }.items():
            line[name] = solve_time(solver, matrix, rhs, fixed, 1)[2]
        counts.append(float(line["multigrid"]))  # type: ignore[arg-type]
        rows.append(line)
    stiff = [c for c, (young, _, _) in zip(counts, cases, strict=True) if young >= 1e6]
    spread = max(stiff) / min(stiff)
    notes = [
        f"from 1e6 Pa on the most iterations are {spread:.1f} times the fewest, those of SSOR "
        f"{_spread(rows, 'SSOR'):.0f} times and those of Jacobi {_spread(rows, 'Jacobi'):.0f} times",
        "a body of 1e3 Pa hardly couples its nodes in 20 ms, so that its matrix is nearly the mass: the easiest case "
        f"needs {min(counts):.0f} iterations, the hardest {max(counts):.0f}",
    ]
    return Result("Iterations to 1e-6, dt = 20 ms, n = 8", rows, 2.0 * min(counts) / max(counts), 1.0, notes)


def _spread(rows: list[dict[str, object]], name: str) -> float:
    """Return the most iterations of a solver over its fewest from 1e6 Pa on."""
    counts = [float(row[name]) for row in rows if float(row["E [Pa]"]) >= 1e6]  # type: ignore[arg-type]
    return max(counts) / min(counts)
