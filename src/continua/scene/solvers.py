"""The solvers of linear systems that a scene may name."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Tag

from continua.scene.types import Count, Flag, Model, Number, by_type, option

__all__ = ["Direct", "MergedPcg", "Multigrid", "PMultigrid", "Pcg", "Solver"]

_RTOL = "Residual to reach, relative to the right-hand side."


class Pcg(Model):
    """Conjugate gradients with a simple preconditioner."""

    type: Literal["pcg"] = option("Conjugate gradients.")
    rtol: Number = option(_RTOL, 1e-4, gt=0, lt=1)
    max_iterations: Count = option("Most iterations in a step.", 2000, ge=1, le=1_000_000)
    preconditioner: Literal["ssor", "jacobi"] = option(
        "Symmetric over-relaxation (fewer iterations) or the diagonal blocks only.", "ssor"
    )


class MergedPcg(Model):
    """Conjugate gradients with the diagonal blocks, in three passes an iteration (Weber 2015); for comparison."""

    type: Literal["merged_pcg"] = option("Merged conjugate gradients.")
    rtol: Number = option(_RTOL, 1e-4, gt=0, lt=1)
    max_iterations: Count = option("Most iterations in a step.", 2000, ge=1, le=1_000_000)


class _Levels(Model):
    rtol: Number = option(_RTOL, 1e-4, gt=0, lt=1)
    max_iterations: Count = option("Most iterations in a step.", 200, ge=1, le=1_000_000)
    cycle: Literal["auto", "v", "w", "full"] = option(
        "How levels are visited; auto: V-cycles, and W-cycles where those are slow.", "auto"
    )
    sweeps: Count = option("Sweeps before and after the correction of the coarser level.", 1, ge=1, le=100)
    accelerate: Flag = option("Whether the cycle preconditions conjugate gradients.", True)
    coarsest: Count = option("Nodes of the level that is solved directly.", 50, ge=1, le=2000)
    precision: Literal["single", "double"] = option("Numbers that the smoother reads.", "single")
    budget_ms: Number | None = option(
        "Time after which a solve stops; the step then warns of its error.", None, unit="ms", gt=0, le=1e6
    )
    smoother: Literal["gauss-seidel", "jacobi", "chebyshev"] = option(
        "What removes the errors that change from node to node; the last two want 2 or 3 sweeps.",
        "gauss-seidel",
    )
    fallback: Flag = option("Whether other solvers try when it does not converge.", True)


class Multigrid(_Levels):
    """Coarser and coarser levels of the mesh inside conjugate gradients: for large bodies."""

    type: Literal["multigrid"] = option("Multigrid.")


class PMultigrid(_Levels):
    """Lower degrees, then coarser levels of the mesh: for large bodies of order 2 and 3."""

    type: Literal["pmultigrid"] = option("Multigrid over degrees.")


class Direct(Model):
    """A sparse factorisation in every step: exact, and slow for large bodies."""

    type: Literal["direct"] = option("Sparse factorisation.")


Word = Literal["auto", "pcg", "merged_pcg", "multigrid", "pmultigrid", "direct"]
Solver = Annotated[
    Annotated[Word, Tag("word")]
    | Annotated[Pcg, Tag("pcg")]
    | Annotated[MergedPcg, Tag("merged_pcg")]
    | Annotated[Multigrid, Tag("multigrid")]
    | Annotated[PMultigrid, Tag("pmultigrid")]
    | Annotated[Direct, Tag("direct")],
    by_type("word", "pcg", "merged_pcg", "multigrid", "pmultigrid", "direct"),
]
