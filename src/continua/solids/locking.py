"""Locking: which bodies average the change of volume, and the warning of those that lock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from continua.errors import InputError, warn_user
from continua.materials import Law
from continua.mesh import TetMesh, TriMesh, VolumeMesh

if TYPE_CHECKING:
    from continua.solids.soft_body import SoftBody

__all__ = ["averages_volume", "note_locking"]

_MEAN_ABOVE = 0.45
"""Poisson's ratio above which bodies average the change of volume by default."""

_LOCKING_POISSON = 0.48
"""Poisson's ratio from which elements of order 1 lock: a cantilever of 4 x 4 tetrahedral cells in its section bends by
0.80, 0.62 and 0.45 of what it should with 0.3, 0.45 and 0.48, and by 0.09 with 0.4999. From here on tetrahedra and
triangles of order 2 and 3 average by default: without means the error of a smooth solution is 2 times as large at 0.48,
4 times at 0.49 and 15 times at 0.4999 (order 2, 8 cells along each side), but the rows of their matrix are 7 times as
long with them, at order 3 10 times."""

_LOCKING_POISSON_HIGH = 0.49
"""Poisson's ratio from which elements of order 2 and 3 lock."""


def averages_volume(
    volumetric: str, mesh: VolumeMesh, order: int, laws: Sequence[Law], plane: str | None = None
) -> bool:
    """Return whether the elements of a body with these laws average the change of volume.

    Args:
        volumetric: "auto", "mean" or "full"; see `SoftBody`.
        mesh: The mesh.
        order: Polynomial degree of the elements.
        laws: The laws of the body and its parts.
        plane: "stress" for a body whose thickness is free: it does not lock.
    """
    if volumetric == "full":
        return False
    if volumetric == "auto":
        poisson = max(law.poisson for law in laws)
        shared = isinstance(mesh, TetMesh | TriMesh) and order != 1
        nearly = poisson >= _LOCKING_POISSON if shared else poisson > _MEAN_ABOVE
        return nearly and plane != "stress" and laws[0].volume is not None
    if plane == "stress":
        raise InputError("volumetric: 'mean' is not for plane stress, which does not lock; leave it out")
    if laws[0].volume is None:
        raise InputError(
            f"volumetric: 'mean' needs a law with a measure of volume, which {type(laws[0]).__name__} has not; "
            "leave it out, or take another law"
        )
    return True


def note_locking(body: SoftBody) -> None:
    """Warn of elements that are nearly incompressible: most of their few motions change their volume."""
    laws = (body.material, *(law for _, law in body.parts))
    poisson = max(law.poisson for law in laws)
    least = _LOCKING_POISSON if body.order == 1 else _LOCKING_POISSON_HIGH
    if body.volumetric == "mean" or body.incompressible or body.plane == "stress" or poisson < least:
        return
    if laws[0].volume is not None:
        remedy = "create it with volumetric='mean' ('volumetric: mean' in a scene), or take 0.45"
    elif body.order == 1:
        remedy = "give it tetrahedra of order 2 ('order: 2' in a scene), or take 0.45"
    else:
        remedy = f"take 0.48, or a law other than {type(laws[0]).__name__}"
    much = "are several times too stiff in bending" if body.order == 1 else "converge slowly"
    warn_user(
        f"the elements of body '{body.name}' lock: with a Poisson's ratio of {poisson:g}, elements of order "
        f"{body.order} {much}; {remedy}"
    )
