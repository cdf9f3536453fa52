"""The linear solvers that a scene may name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args

from pydantic import Tag

from continua.errors import InputError
from continua.registry import AUTO_SOLVER, make_solver, name_solver
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


_models: dict[str, type[Model]] = {  # those of Continua, named in `continua.registry`; others are registered
    "pcg": Pcg,
    "merged_pcg": MergedPcg,
    "multigrid": Multigrid,
    "pmultigrid": PMultigrid,
    "direct": Direct,
}


def register_solver(model: type[Model], solver: Callable[..., LinearSolver] | str) -> None:
    """Register a solver for scene files and for `SoftBody(solver=...)`, under the `type` of its model.

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
    name_solver(names[0], solver)
    _models[names[0]] = model
    rebuild_models()


def build_solver(spec: Any) -> LinearSolver | None:
    """Return the solver that a scene names, a word or a model; None for "auto"."""
    if isinstance(spec, str):
        return make_solver(spec)
    return make_solver(spec.type, **spec.model_dump(exclude={"type"}))


def _union() -> Any:
    """Return the union of a word and the models of all solvers."""
    word = Annotated[Literal[(AUTO_SOLVER, *_models)], Tag("word")]  # type: ignore[valid-type]
    models = tuple(Annotated[model, Tag(name)] for name, model in _models.items())
    return Annotated[Union[(word, *models)], by_type("word", *_models)]


if TYPE_CHECKING:
    Solver = Any
else:
    Solver = Annotated[_union().__origin__, FromRegistry(_union)]
