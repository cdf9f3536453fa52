"""Locking: which bodies average the change of volume, and the warning of those that lock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from continua.errors import InputError, warn_user
from continua.materials import Law

if TYPE_CHECKING:
    from continua.solids.soft_body import SoftBody

__all__ = ["averages_volume", "note_locking"]

_MEAN_ABOVE = 0.45
"""Poisson's ratio above which bodies of order 1 average the change of volume by default; the rows of the matrix of
tetrahedra and triangles are then longer, and steps slower."""

_LOCKING_POISSON = 0.48
"""Poisson's ratio from which elements of order 1 lock: a cantilever of 4 x 4 tetrahedral cells in its section bends by
0.80, 0.62 and 0.45 of what it should with 0.3, 0.45 and 0.48, and by 0.09 with 0.4999."""


def averages_volume(volumetric: str, order: int, laws: Sequence[Law], plane: str | None = None) -> bool:
    """Return whether the elements of a body with these laws average the change of volume.

    Args:
        volumetric: "auto", "mean" or "full"; see `SoftBody`.
        order: Polynomial degree of the elements.
        laws: The laws of the body and its parts.
        plane: "stress" for a body whose thickness is free: it does not lock.
    """
    if volumetric != "mean":
        nearly = max(law.poisson for law in laws) > _MEAN_ABOVE
        locks = nearly and order == 1 and plane != "stress"
        return volumetric == "auto" and locks and laws[0].volume is not None
    if plane == "stress":
        raise InputError("volumetric: 'mean' is not for plane stress, which does not lock; leave it out")
    if order != 1:
        raise InputError(
            f"volumetric: 'mean' is for elements of order 1, not {order}, which hardly lock; leave it out"
        )
    if laws[0].volume is None:
        raise InputError(
            f"volumetric: 'mean' needs a law with a measure of volume, which {type(laws[0]).__name__} has not; "
            "leave it out, or take another law"
        )
    return True


def note_locking(body: SoftBody) -> None:
    """Warn of elements of order 1 that are nearly incompressible: most of their few motions change their volume."""
    laws = (body.material, *(law for _, law in body.parts))
    poisson = max(law.poisson for law in laws)
    averages = body.volumetric == "mean" or body.incompressible
    locks = body.order == 1 and not averages and body.plane != "stress"
    if not locks or poisson < _LOCKING_POISSON:
        return
    averaged = averages_volume("auto", body.order, laws)
    remedy = "create it with volumetric='mean'" if averaged else "give it tetrahedra of order 2"
    scene = "'volumetric: mean'" if averaged else "'order: 2'"
    warn_user(
        f"the elements of body '{body.name}' lock: with a Poisson's ratio of {poisson:g}, elements of order 1 are "
        f"several times too stiff in bending; {remedy} ({scene} in a scene), or 0.45"
    )
