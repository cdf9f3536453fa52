"""The materials of a body: one law, its constants, and parts with constants of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.deformable.selection import Where, select_elements
from continua.errors import InputError
from continua.materials import Law
from continua.materials.registry import constants_of
from continua.mesh import VolumeMesh
from continua.validation import choice, index, sequence, shortened

__all__ = ["ElementMaterials", "are_incompressible", "checked_parts", "deviatoric", "with_constants"]


def with_constants(law: Law, changes: Mapping[str, Any]) -> Law:
    """Return a law with some of its constants replaced; unknown constants are refused."""
    names = [field.name for field in fields(law) if field.init]
    for key in changes:
        choice(key, f"a constant of the law {type(law).__name__}", names)
    return replace(law, **changes)


def _variants(law: Law) -> list[str]:
    """Return the constants that select a variant of a law by a word: a body has one variant, for good."""
    return [key for key, (_, description) in constants_of(law).items() if description.choices]


def checked_parts(law: Law, parts: Sequence[tuple[Where, Law]]) -> list[tuple[Where, Law]]:
    """Return the parts of a body of this law; what is no pair of a selection and a material of it is refused."""
    checked = []
    for pair in sequence(parts, "the parts of a body"):
        if not (isinstance(pair, tuple | list) and len(pair) == 2):
            raise InputError(f"a part must be a pair of a selection and a material, not {shortened(pair)}")
        where, part = pair
        if type(part) is not type(law):
            raise InputError(
                f"a part must have the law of its body, {type(law).__name__}, not {shortened(part)}"
            )
        for key in _variants(law):
            if getattr(part, key) != getattr(law, key):
                raise InputError(
                    f"a part must have the {key} of its body, '{getattr(law, key)}', not '{getattr(part, key)}'"
                )
        checked.append((where, part))
    return checked


def are_incompressible(laws: Sequence[Law], body: str) -> bool:
    """Return whether laws have a Poisson's ratio of 1/2; raise InputError if only some of them have."""
    halves = [law.poisson == 0.5 for law in laws]
    if any(halves) and not all(halves):
        raise InputError(
            f"body '{body}' has a Poisson's ratio of 0.5 in some parts and less in others; it is incompressible as a "
            "whole: use 0.5 everywhere, or at most 0.49"
        )
    return all(halves)


def deviatoric(law: Law) -> Law:
    """Return the law that acts beside the pressures of an incompressible body.

    It has the shear modulus of `young` with Poisson's ratio 1/2, young / 3, and no bulk modulus of its own: lambda = 0.
    """
    return replace(law, young=2.0 / 3.0 * law.young, poisson=0.0)


class ElementMaterials:
    """The law of a body and the constants of its elements.

    Args:
        mesh: The body's mesh.
        law: The law, with the constants of elements that are in no part.
        parts: Pairs of a selection of elements and a material of the same law; later ones win.
        body: Name of the body, for messages.
        incompressible: Whether the elements get the constants of the deviatoric laws, see `deviatoric`.
    """

    def __init__(
        self,
        mesh: VolumeMesh,
        law: Law,
        parts: Sequence[tuple[Where, Law]],
        body: str,
        incompressible: bool = False,
    ) -> None:
        self.law = law
        self._incompressible = incompressible
        self._body = body
        self._mesh = mesh
        self._origins: NDArray[np.int32] | None = (
            None  # elements of the initial mesh that contain those of this one
        )
        self.parts: list[tuple[NDArray[np.int32], Law]] = []
        label = f"part of body '{body}'" if body else "part"
        for where, part in checked_parts(law, parts):
            self.parts.append((select_elements(where, mesh, label), part))
        self._fill_element_constants()

    def on(
        self, mesh: VolumeMesh, element_parents: NDArray[np.int32] | None, parts: Sequence[NDArray[np.int32]]
    ) -> ElementMaterials:
        """Return the same materials on another topology of the body.

        Args:
            mesh: The mesh.
            element_parents: The element of the initial mesh that contains each of its elements; None for the initial
                mesh itself. Laws with constants per element have those of the initial mesh.
            parts: The elements of each part.
        """
        materials = ElementMaterials.__new__(ElementMaterials)
        materials.law, materials._body, materials._mesh = self.law, self._body, mesh
        materials._origins, materials._incompressible = element_parents, self._incompressible
        materials.parts = [(elements, law) for elements, (_, law) in zip(parts, self.parts, strict=True)]
        materials._fill_element_constants()
        return materials

    def change(self, changes: dict[str, Any], part: int | None) -> None:
        """Change constants by name, of one part or of the elements in no part."""
        for key in _variants(self.law):
            if changes.get(key, getattr(self.law, key)) != getattr(self.law, key):
                raise InputError(
                    f"the {key} of body '{self._body}' cannot change; make a new body with {key}='{changes[key]}'"
                )
        was_half = self.law.poisson == 0.5
        if "poisson" in changes and (changes["poisson"] == 0.5) != was_half:
            raise InputError(
                f"body '{self._body}' cannot become {'compressible' if was_half else 'incompressible'}; make a new "
                f"body with poisson={changes['poisson']:g}"
            )
        if part is None:
            self.law = with_constants(self.law, changes)
        else:
            number = index(part, f"the number of a part of body '{self._body}'", len(self.parts))
            elements, law = self.parts[number]
            self.parts[number] = (elements, with_constants(law, changes))
        self._fill_element_constants()

    def _deviatoric(self, law: Law) -> Law:
        if law.volume is None:
            raise InputError(
                f"the incompressible body '{self._body}' needs a law whose resistance to a change of volume can be "
                f"left out, and {type(law).__name__} has none of its own; take Corotated or NeoHookean"
            )
        if not law.young > 0.0:
            raise InputError(
                f"the incompressible body '{self._body}' needs a law that resists a change of shape; give it a 'young' "
                "above 0"
            )
        return deviatoric(law)

    def _fill_element_constants(self) -> None:
        """Set `constants` [m, k] and `density` [kg/m3] of every element, and the mean `young` [Pa].

        `has_zero_stiffness` is true if `young` is 0 in any element.
        """
        count = self._mesh.element_count
        everywhere: NDArray[np.int32] = np.arange(count, dtype=np.int32)
        origins = everywhere if self._origins is None else self._origins
        acting = self._deviatoric if self._incompressible else lambda law: law
        self.constants = acting(self.law).element_constants(origins)
        self.density = np.full(count, self.law.density)
        young = np.full(count, self.law.young)
        for elements, law in self.parts:
            self.constants[elements] = acting(law).element_constants(origins[elements])
            self.density[elements] = law.density
            young[elements] = law.young
        self.young = float(np.average(young, weights=self._mesh.volumes))
        self.has_zero_stiffness = bool((young == 0.0).any())
