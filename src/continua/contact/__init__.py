"""Contact: shapes that bodies can touch, finding what touches, and the forces that answer."""

from continua.contact.options import Contact, PairTable
from continua.contact.penalty import NO_CONTACTS, ContactSet, find_contacts
from continua.contact.rows import NO_ROWS, ContactRows, contact_rows, join_rows
from continua.contact.shapes import Gear, Plane, Shape, Sphere
from continua.contact.shapes_mesh import MeshShape
from continua.contact.shapes_round import Box, Capsule, Cylinder

__all__ = [
    "NO_CONTACTS",
    "NO_ROWS",
    "Box",
    "Capsule",
    "Contact",
    "ContactRows",
    "ContactSet",
    "Cylinder",
    "Gear",
    "MeshShape",
    "PairTable",
    "Plane",
    "Shape",
    "Sphere",
    "contact_rows",
    "find_contacts",
    "join_rows",
]
