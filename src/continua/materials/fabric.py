"""Woven fabrics: different stiffness along warp and weft, and a limit of the strain; measured ones by name."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.materials.law import Law
from continua.validation import choice, number, whole_numbers

__all__ = ["FABRICS", "Fabric"]

FABRICS: dict[str, dict[str, float]] = {
    "denim": {
        "warp": 1013.9,
        "weft": 205.4,
        "coupling": 10.2,
        "shear": 26.7,
        "area_density": 0.324,
        "bending": 6.42e-5,
        "thickness": 7e-4,
    },
    "interlock": {
        "warp": 34.5,
        "weft": 16.6,
        "coupling": -14.7,
        "shear": 18.4,
        "area_density": 0.187,
        "bending": 2.32e-5,
        "thickness": 7e-4,
    },
    "polyester": {
        "warp": 2027.5,
        "weft": 2002.1,
        "coupling": 0.35,
        "shear": 9.6,
        "area_density": 0.128,
        "bending": 5.17e-5,
        "thickness": 3e-4,
    },
}
"""Stiffness at small strains [N/m], mass [kg/m2] and flexural stiffness [N m] of fabrics measured by Wang, O'Brien and
Ramamoorthi (2011, Data-driven elastic models for cloth): 11 oz denim, a cotton interlock knit, and a polyester print.
Their shear constant relates the stress to the tensor strain, twice this modulus. Thickness [m] is not among the
measured values; these are typical ones."""


@dataclass(frozen=True)
class Fabric(Law):
    """A woven fabric: stress per width linear in Green's strain along warp and weft, of cloth only.

    Attributes:
        warp: Stiffness along the warp [N/m].
        weft: Stiffness along the weft [N/m].
        coupling: Stress along one for a strain along the other [N/m].
        shear: Shear stiffness [N/m].
        area_density: Mass per area [kg/m2].
        bending: Flexural stiffness [N m].
        thickness: Thickness [m].
        limit: Strain along warp or weft beyond which the yarns are straight and it is stiffer.
        stiffening: How many times as stiff it is then.
    """

    warp: float = 1000.0
    weft: float = 1000.0
    coupling: float = 0.0
    shear: float = 50.0
    area_density: float = 0.2
    bending: float = 5e-5
    thickness: float = 5e-4
    limit: float = inf
    stiffening: float = 100.0
    young: float = field(init=False, repr=False, default=0.0)  # these follow from the others
    poisson: float = field(init=False, repr=False, default=0.0)
    density: float = field(init=False, repr=False, default=0.0)

    is_rotation_invariant = True

    def __post_init__(self) -> None:
        for key in ("warp", "weft", "shear", "area_density", "thickness", "limit"):
            unit = {"area_density": "kg/m2", "thickness": "m", "limit": ""}.get(key, "N/m")
            if not (key == "limit" and self.limit == inf):
                number(getattr(self, key), f"the {key} of a fabric", above=0.0, unit=unit)
        number(self.bending, "the bending of a fabric", low=0.0, unit="N m")
        number(self.coupling, "the coupling of a fabric", unit="N/m")
        number(self.stiffening, "the stiffening of a fabric", low=1.0)
        if not self.coupling**2 < self.warp * self.weft:
            raise InputError(
                f"the coupling of a fabric, {self.coupling:g} N/m, must be smaller than the root of warp times weft, "
                "or the fabric has no stable shape"
            )
        # constants that all laws have, per volume
        modulus = max(self.warp, self.weft) / self.thickness
        object.__setattr__(self, "young", modulus)
        object.__setattr__(self, "poisson", 0.0)
        object.__setattr__(self, "density", self.area_density / self.thickness)

    @classmethod
    def measured(cls, name: str, **changes: Any) -> Self:
        """Return a measured fabric, one of `FABRICS`, with some of its constants changed."""
        return replace(cls(**FABRICS[choice(name, "the name of a fabric", FABRICS)]), **changes)

    @property
    def constants(self) -> tuple[float, ...]:
        """Lame's constants of the stiffest direction [Pa], and those of `membrane_kernels.green_records`."""
        h = self.thickness
        green = self.limit + 0.5 * self.limit**2
        return (
            *self.lame, self.warp / h, self.coupling / h, self.weft / h, self.shear / h, green, green,
            self.stiffening - 1.0,
        )  # fmt: skip

    def element_constants(self, elements: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the constants of the given triangles, shape [len(elements), 9]."""
        elements = whole_numbers(elements, "elements", (None,)).astype(np.int32)
        return np.tile(np.array(self.constants), (len(elements), 1))

    @property
    def evaluate_points(self) -> Any:
        """A fabric has no law of solids."""
        raise InputError("a Fabric has no law of solids, only one of sheets")
