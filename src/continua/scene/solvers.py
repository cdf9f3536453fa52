"""The linear solvers that a scene may name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args

from pydantic import Tag

from continua.errors import InputError
from continua.scene.registration import FromRegistry, rebuild_models
from continua.scene.types import Count, Flag, Model, Number, by_type, option

if TYPE_CHECKING:
    from continua.linalg import LinearSolver

__all__ = [
    "Direct",
    "MergedPcg",
    "Multigrid",
    "PMultigrid",
    "Pcg",
    "Solver",
    "SolverKind",
    "build_solver",
    "register_solver",
]

_RTOL = "Residual to reach, relative to the right-hand side."


class Pcg(Model):
    """Conjugate gradients with a simple preconditioner."""

    type: Literal["pcg"] = option("Conjugate gradients.")
    rtol: Number = option(_RTOL, 1e-4, gt=0, lt=1)
    max_iterations: Count = option("Maximum number of iterations.", 2000, ge=1, le=1_000_000)
    preconditioner: Literal["ssor", "jacobi"] = option("SSOR (fewer iterations) or block Jacobi.", "ssor")


class MergedPcg(Model):
    """Conjugate gradients with the diagonal blocks, in three passes per iteration (Weber 2015); for comparison."""

    type: Literal["merged_pcg"] = option("Merged conjugate gradients.")
    rtol: Number = option(_RTOL, 1e-4, gt=0, lt=1)
    max_iterations: Count = option("Maximum number of iterations.", 2000, ge=1, le=1_000_000)


class _Levels(Model):
    rtol: Number = option(_RTOL, 1e-4, gt=0, lt=1)
    max_iterations: Count = option("Maximum number of iterations.", 200, ge=1, le=1_000_000)
    cycle: Literal["auto", "v", "w", "full"] = option(
        "Cycle; auto: V-cycles, and W-cycles where those converge slowly.", "auto"
    )
    sweeps: Count = option("Smoothing sweeps before and after the coarse correction.", 1, ge=1, le=100)
    accelerate: Flag = option("Whether the cycle preconditions conjugate gradients.", True)
    coarsest: Count = option(
        "Maximum number of nodes of the level that is solved directly.", 50, ge=1, le=2000
    )
    precision: Literal["single", "double"] = option("Floating-point precision of the smoother.", "single")
    budget_ms: Number | None = option(
        "Time after which a solve stops; the report of the step then has a warning with its error.",
        None,
        unit="ms",
        gt=0,
        le=1e6,
    )
    smoother: Literal["gauss-seidel", "jacobi", "chebyshev"] = option(
        "Smoother; the last two need 2 or 3 sweeps.",
        "gauss-seidel",
    )
    fallback: Flag = option("Whether another solver is tried if it does not converge.", True)


class Multigrid(_Levels):
    """Multigrid-preconditioned conjugate gradients: for large bodies."""

    type: Literal["multigrid"] = option("Multigrid.")


class PMultigrid(_Levels):
    """p-multigrid: lower degrees, then coarser levels: for large bodies of order 2 and 3."""

    type: Literal["pmultigrid"] = option("p-multigrid.")


class Direct(Model):
    """A sparse factorisation in every step: accurate, and slow for large bodies."""

    type: Literal["direct"] = option("Sparse factorisation.")


@dataclass(frozen=True)
class SolverKind:
    """A solver that scenes may name.

    Attributes:
        model: Its scene model, with `type: Literal[name]` and its options.
        solver: Class of the solver, which takes the options as keywords, or its path "module:Class".
    """

    model: type[Model]
    solver: Callable[..., LinearSolver] | str


_solvers: dict[str, SolverKind] = {}


def register_solver(model: type[Model], solver: Callable[..., LinearSolver] | str) -> None:
    """Register a solver for scene files, under the `type` of its model.

    Args:
        model: Its scene model: derived from `scene.types.Model`, with `type: Literal[name]` and its options.
        solver: Class of the solver, which takes the options as keywords, or its path "module:Class".
    """
    field = model.model_fields.get("type")
    names = get_args(field.annotation) if field is not None else ()
    if len(names) != 1 or not isinstance(names[0], str):
        raise InputError(
            f"the model {model.__name__} of a solver must have the key 'type: Literal[\"name\"]'"
        )
    if names[0] == "auto" or names[0] in _solvers:
        raise InputError(f"there is a solver called '{names[0]}' already; choose another name")
    _solvers[names[0]] = SolverKind(model, solver)
    rebuild_models()


def build_solver(spec: Any) -> LinearSolver | None:
    """Return the solver that a scene names, a word or a model; None for "auto"."""
    if spec == "auto":
        return None
    kind = _solvers[spec if isinstance(spec, str) else spec.type]
    options = {} if isinstance(spec, str) else spec.model_dump(exclude={"type"})
    if isinstance(kind.solver, str):
        module, _, name = kind.solver.partition(":")
        return getattr(import_module(module), name)(**options)
    return kind.solver(**options)


register_solver(Pcg, "continua.linalg:PCG")
register_solver(MergedPcg, "continua.linalg:MergedPCG")
register_solver(Multigrid, "continua.linalg:Multigrid")
register_solver(PMultigrid, "continua.linalg:PMultigrid")
register_solver(Direct, "continua.linalg:Direct")


def _union() -> Any:
    """Return the union of a word and the models of all solvers."""
    word = Annotated[Literal[("auto", *_solvers)], Tag("word")]  # type: ignore[valid-type]
    models = tuple(Annotated[kind.model, Tag(name)] for name, kind in _solvers.items())
    return Annotated[Union[(word, *models)], by_type("word", *_solvers)]


if TYPE_CHECKING:
    Solver = Any
else:
    Solver = Annotated[_union().__origin__, FromRegistry(_union)]
