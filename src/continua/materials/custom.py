"""User-defined laws: a dataclass of constants with an energy, and checks of its consistency."""

from __future__ import annotations

import difflib
import re
import warnings
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass, fields
from itertools import permutations
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.materials.law import Law
from continua.validation import number

if TYPE_CHECKING:
    from continua.materials.finite_differences import UserKernels

__all__ = ["CustomLaw"]

_FUNCTIONS = ("energy", "stress", "tangent", "principal_energy")
_CONSTANTS = "constants_of_the_law"  # the type of p, in the compiler's messages
_STATES = 12  # random states at which a law is checked
_TOLERANCE = 1e-5  # of the stiffness: error of a stress, or of the energy under rotation


def _text(F: NDArray[np.float64]) -> str:
    return "[" + ", ".join("[" + ", ".join(f"{x:.3g}" for x in row) + "]" for row in F) + "]"


def _reason(error: Exception) -> str:
    """Return the most informative line of a compiler's message."""
    lines = [line.strip() for line in _plain(error).splitlines() if line.strip()]
    informative = [line for line in lines if not line.startswith(("Failed in", "During:", "- "))]
    return (informative or lines or [type(error).__name__])[0]


def _plain(error: Exception) -> str:
    """Return the text of an error without the colours of a terminal."""
    return re.sub("\x1b\\[[0-9;]*m", "", str(error))


def _unknown_constant(error: Exception) -> str | None:
    """Return the name of the constant that a law asks for and does not have, or None."""
    found = re.search(rf"Unknown attribute '(\w+)' of type {_CONSTANTS}\(", _plain(error))
    return None if found is None else found[1]


def _states() -> NDArray[np.float64]:
    """Return moderate random deformations [n, 3, 3], all of positive volume."""
    rng = np.random.default_rng(20)
    F = np.eye(3) + rng.uniform(-0.3, 0.3, (8 * _STATES, 3, 3))
    return F[np.linalg.det(F) > 0.3][:_STATES]


def _rotations(count: int) -> NDArray[np.float64]:
    q, r = np.linalg.qr(np.random.default_rng(21).normal(size=(count, 3, 3)))
    q = q * np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :]
    return q * np.linalg.det(q)[:, None, None]


@dataclass(frozen=True)
class CustomLaw(Law):
    """Base class of user-defined laws.

    A subclass is a frozen dataclass; its fields are the constants. It has one of two functions, in plain Python that
    Numba can compile:

    * `energy(F, p)`: energy density [J/m3] of the deformation gradient F, an array [3, 3]. `stress(F, p)` [3, 3] and
      `tangent(F, p)` [9, 9] (F row by row) may be given as well; otherwise they come from central differences of
      fourth order. The energy should be finite for every F, including flat and inverted ones.
    * `principal_energy(f, p)`: energy density of the principal stretches f, a tuple of 3. Below `least_stretch` the
      stress is extrapolated linearly, so that the law is robust through inversion.

    In both, p holds the constants by name: `p.lam` and `p.mu` (Lame's, from `young` and `poisson`), `p.young`,
    `p.poisson`, and the fields of the subclass. `young` should be the stiffness at rest: contact and pulls scale with
    it.

    A law is checked when it is created: no stress at rest, a stress that is the derivative of the energy, invariance
    under rotation (unless the class sets `is_rotation_invariant = False`), and a `principal_energy` that does not
    depend on the order of the stretches.

    Example:
        ```python
        @dataclass(frozen=True)
        class Gent(ct.CustomLaw):
            limit: float = 30.0

            def principal_energy(f, p):
                i = f[0] ** 2 + f[1] ** 2 + f[2] ** 2 - 3
                l = log(f[0] * f[1] * f[2])
                return -p.mu / 2 * p.limit * log(1 - i / p.limit) - p.mu * l + p.lam / 2 * l**2
        ```
    """

    name = "custom"
    is_rotation_invariant = True
    least_stretch: ClassVar[float] = 0.25
    _functions: ClassVar[dict[str, Callable]] = {}
    _user_kernels: ClassVar[UserKernels]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = {}
        for key in _FUNCTIONS:
            if key in cls.__dict__:
                function = cls.__dict__[key]
                own[key] = function.__func__ if isinstance(function, staticmethod) else function
                delattr(cls, key)  # `law.energy(F)` stays the method of every law
        cls._functions = own or cls._functions
        if {"energy", "principal_energy"} <= cls._functions.keys():
            raise InputError(f"the law {cls.__name__} must have either energy or principal_energy, not both")

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in fields(self):
            number(getattr(self, field.name), f"{field.name} of the law {type(self).__name__}")
        _ = self.evaluate_points  # raises if functions are missing
        self._check()

    @property
    def evaluate_points(self) -> UserKernels:
        """The kernels that evaluate the law at quadrature points; compiled once per class."""
        cls = type(self)
        if "_user_kernels" not in cls.__dict__:
            cls._user_kernels = self._kernels()
        return cls._user_kernels

    @property
    def constants(self) -> tuple[float, ...]:
        """Lame's constants [Pa], then all fields but the density."""
        return (*self.lame, *(float(getattr(self, key)) for key in self._keys()))

    @property
    def rounding_amplification(self) -> float:
        """Rounding errors of the stress relative to those of a closed formula: differences divide by a step."""
        from continua.materials.finite_differences import STEP, STRETCH_STEP

        if "stress" in self._functions:
            return 1.0
        return 1.0 / (STRETCH_STEP if "principal_energy" in self._functions else STEP)

    def _named_constants(self) -> dict[str, float]:
        return dict(zip(("lam", "mu", *self._keys()), self.constants, strict=True))

    def _keys(self) -> list[str]:
        return [field.name for field in fields(self) if field.name != "density"]

    def _kernels(self) -> UserKernels:
        import numba

        from continua.materials.finite_differences import (
            UserKernels,
            compiled,
            point_of_energy,
            point_of_principal,
            point_of_stress,
        )

        functions = self._functions
        if not {"energy", "principal_energy"} & functions.keys():
            raise InputError(
                f"the law {type(self).__name__} needs a function energy(F, p) or principal_energy(f, p)"
            )
        if "tangent" in functions and "stress" not in functions:
            raise InputError(f"the law {type(self).__name__} has a tangent, so it needs a stress as well")
        keys = ["lam", "mu", *self._keys()]
        if len(set(keys)) < len(keys):
            raise InputError(
                f"the law {type(self).__name__} must not name a field lam or mu; it has both already"
            )
        given: Any = namedtuple(_CONSTANTS, keys)  # type: ignore[misc]
        space: dict[str, Any] = {"given": given, "__name__": __name__}
        exec(f"def named(p): return given({', '.join(f'p[{k}]' for k in range(len(keys)))})", space)
        named = numba.njit(space["named"])
        user = {key: compiled(function) for key, function in functions.items()}
        if "principal_energy" in user:
            return UserKernels(point_of_principal(user["principal_energy"], float(self.least_stretch), named))
        if "stress" in user:
            return UserKernels(point_of_stress(user["energy"], user["stress"], user.get("tangent"), named))
        return UserKernels(point_of_energy(user["energy"], named))

    def _check(self) -> None:
        """Raise InputError if this is not a consistent elastic law."""
        what = f"the law {type(self).__name__}"
        rest = np.eye(3)
        try:
            energy, stress, tangent = self.energy(rest), self.stress(rest), self.tangent(rest)
        except Exception as error:  # anything that a user's function can raise while Numba compiles it
            if (unknown := _unknown_constant(error)) is not None:
                names = ["lam", "mu", *self._keys()]
                near = difflib.get_close_matches(unknown, names, 1)
                hint = f"; do you mean p.{near[0]}?" if near else ""
                raise InputError(
                    f"{what} has no constant '{unknown}' (p has: {', '.join(names)}){hint}"
                ) from error
            raise InputError(f"{what} cannot be compiled by Numba: {_reason(error)}") from error
        if not (np.isfinite(energy) and np.isfinite(stress).all() and np.isfinite(tangent).all()):
            raise InputError(f"{what} has no finite energy, stress and tangent at rest")
        scale = float(np.abs(tangent).max())
        if np.abs(stress).max() > _TOLERANCE * scale:
            raise InputError(
                f"{what} has a stress at rest, of up to {np.abs(stress).max():.3g} Pa; it must vanish at F = 1"
            )
        if np.linalg.eigvalsh(tangent).min() < -_TOLERANCE * scale:
            raise InputError(f"{what} is not stable at rest: its energy falls in some direction from F = 1")
        self._check_derivatives(what, scale)
        self._check_rotation(what, scale)
        self._check_symmetry(what, scale)
        mirrored = self.energy(np.diag([1.0, 0.9, -0.5])) + self.energy(np.zeros((3, 3)))
        if not np.isfinite(mirrored):
            warnings.warn(
                f"{what} has no energy for flat or inverted elements; a run ends when one collapses. "
                "Define principal_energy instead to continue through collapse.",
                stacklevel=5,
            )

    def _check_derivatives(self, what: str, scale: float) -> None:
        states, h = _states(), 1e-3
        units = np.eye(9).reshape(9, 3, 3)

        def slope(value: Callable, shape: tuple[int, ...]) -> NDArray[np.float64]:
            parts = [
                (8 * (value(states + h * u) - value(states - h * u))
                 - value(states + 2 * h * u) + value(states - 2 * h * u)) / (12 * h)
                for u in units
            ]  # fmt: skip
            return np.stack(parts, axis=-1).reshape(len(states), *shape)

        pairs = []
        if "stress" in self._functions:
            pairs.append(("stress", "energy", self.stress(states), slope(self.energy, (3, 3))))
        if "tangent" in self._functions:
            rows = lambda F: self.stress(F).reshape(-1, 9)  # noqa: E731
            pairs.append(("tangent", "stress", self.tangent(states), slope(rows, (9, 9))))
        for given, source, ours, expected in pairs:
            off = np.abs(ours - expected).max(axis=(1, 2))
            worst = int(np.argmax(np.where(np.isnan(off), np.inf, off)))
            if not off[worst] <= _TOLERANCE * scale:
                part = 100.0 * off[worst] / max(float(np.abs(expected[worst]).max()), 1e-300)
                raise InputError(
                    f"the {given} of {what} is not the derivative of its {source}: off by {off[worst]:.3g} Pa "
                    f"({part:.2g} %) at F = {_text(states[worst])}"
                )

    def _check_symmetry(self, what: str, scale: float) -> None:
        """Raise InputError if the energy depends on the order of the stretches, which no material knows."""
        if "principal_energy" not in self._functions:
            return
        energy, p = self._functions["principal_energy"], SimpleNamespace(**self._named_constants())
        for state in _states():
            f = tuple(np.linalg.svd(state, compute_uv=False).tolist())
            values = [float(energy(order, p)) for order in permutations(f)]
            if not max(values) - min(values) <= _TOLERANCE * scale:
                raise InputError(
                    f"{what} changes its energy by {max(values) - min(values):.3g} J/m3 when the stretches "
                    f"({', '.join(f'{x:.3g}' for x in f)}) change places; their order has no meaning, so the energy "
                    "must be symmetric in f[0], f[1] and f[2]"
                )

    def _check_rotation(self, what: str, scale: float) -> None:
        if not self.is_rotation_invariant:
            return
        states = _states()
        turned = self.energy(_rotations(len(states)) @ states)
        off = np.abs(turned - self.energy(states))
        worst = int(np.argmax(np.where(np.isnan(off), np.inf, off)))
        if not off[worst] <= _TOLERANCE * scale:
            raise InputError(
                f"{what} changes its energy by {off[worst]:.3g} J/m3 when F = {_text(states[worst])} is rotated; "
                "use F^T F or the principal stretches, or set is_rotation_invariant = False"
            )
