"""Iterations of multigrid-, SSOR- and Jacobi-PCG over Young's modulus, Poisson's ratio and contrast.

Elements of order 2 near a Poisson's ratio of 0.5 are solved by multigrid alone, with pressures as unknowns.
"""

from __future__ import annotations

import continua as ct
from benchmarks.bridge import YOUNG, solve_time, system
from benchmarks.report import Result
from benchmarks.run import Run

RTOL = 1e-6


def main(run: Run) -> Result:
    """Count iterations with dt = 20 ms, from zero to 1e-6."""
    run.set_threads(2)
    n = run.choose(2, 8)
    mesh = ct.mesh.bridge(n)
    rows: list[dict[str, object]] = []
    cases = run.choose(
        [(1e6, 0.3, 1.0), (1e6, 0.3, 1e6)],
        [(10.0**k, nu, 1.0) for nu in (0.3, 0.45) for k in range(3, 13)] + [(2e6, 0.3, 1e6), (2e3, 0.3, 1e9)],
    )
    for young, nu, contrast in run.cases(
        cases, lambda c: f"E = {c[0]:g} Pa, nu = {c[1]:g}, contrast {c[2]:g}"
    ):
        matrix, rhs, fixed = system(mesh, young=young, poisson=nu, contrast=contrast)
        line: dict[str, object] = {
            "order": 1,
            "E [Pa]": f"{young:g}",
            "nu": f"{nu:g}",
            "contrast": f"{contrast:g}",
        }
        for name, solver in {
            "multigrid": ct.Multigrid(rtol=RTOL, fallback=False),
            "SSOR": ct.PCG(rtol=RTOL, max_iterations=20_000),
            "Jacobi": ct.PCG(rtol=RTOL, preconditioner="jacobi", max_iterations=20_000),
        }.items():
            line[name] = solve_time(run, solver, matrix, rhs, fixed, 1)[2]
        rows.append(line)
    rows += _nearly_incompressible(run)
    plain = [row for row in rows if "SSOR" in row]
    near = {str(row["nu"]): int(str(row["multigrid"])) for row in rows if "SSOR" not in row}
    most = {name: max(int(str(row[name])) for row in plain) for name in ("multigrid", "SSOR", "Jacobi")}
    notes = [
        f"from 1e6 Pa the most iterations are {_spread(plain, 'multigrid'):.1f} times the fewest with multigrid, "
        f"{_spread(plain, 'SSOR'):.0f} times with SSOR and {_spread(plain, 'Jacobi'):.0f} times with Jacobi",
        "at 1e3 Pa the nodes hardly couple within 20 ms, so the matrix is nearly the mass matrix",
        f"order 2: {near['0.4999'] / near['0.3']:.1f} times the iterations of nu = 0.3 at nu = 0.4999",
        "ratio = most iterations with Jacobi over most with multigrid",
    ]
    return Result(
        f"Iterations to 1e-6, dt = 20 ms, n = {n}", rows, most["Jacobi"] / most["multigrid"], None, notes,
        ("order", "E [Pa]", "nu", "contrast"),
    )  # fmt: skip


def _nearly_incompressible(run: Run) -> list[dict[str, object]]:
    """Return the rows of order 2, in the full form with 213,000 unknowns."""
    mesh = ct.mesh.bridge(run.choose(2, 10))
    rows: list[dict[str, object]] = []
    for nu in run.cases(
        run.choose([0.3, 0.4999], [0.3, 0.45, 0.49, 0.499, 0.4999, 0.49999]), lambda nu: f"nu = {nu:g}"
    ):
        matrix, rhs, fixed = system(mesh, order=2, poisson=nu)
        iterations = solve_time(run, ct.PMultigrid(rtol=RTOL, fallback=False), matrix, rhs, fixed, 1)[2]
        rows.append(
            {"order": 2, "E [Pa]": f"{YOUNG:g}", "nu": f"{nu:g}", "contrast": "1", "multigrid": iterations}
        )
    return rows


def _spread(rows: list[dict[str, object]], name: str) -> float:
    """Return the most iterations of a solver over its fewest, from 1e6 Pa."""
    counts = [float(str(row[name])) for row in rows if float(str(row["E [Pa]"])) >= 1e6]
    return max(counts) / min(counts)
