"""Contact: shapes that bodies can touch, finding what touches, and the forces that answer."""

from continua.contact.penalty import NO_CONTACTS, ContactSet, find_contacts
from continua.contact.shapes import Gear, Plane, Shape, Sphere

__all__ = ["NO_CONTACTS", "ContactSet", "Gear", "Plane", "Shape", "Sphere", "find_contacts"]
