"""Cloth and thin sheets: triangles in space that stretch in their plane and bend at their edges."""

from continua.shells.bending import Bending
from continua.shells.cloth import Cloth
from continua.shells.fields import CLOTH_FIELDS
from continua.shells.inflation import Inflation
from continua.shells.patterns import Pattern, sew
from continua.shells.sheet_mesh import SheetMesh
from continua.shells.shell import Shell
from continua.shells.springs import ClothSprings

__all__ = [
    "CLOTH_FIELDS",
    "Bending",
    "Cloth",
    "ClothSprings",
    "Inflation",
    "Pattern",
    "SheetMesh",
    "Shell",
    "sew",
]
