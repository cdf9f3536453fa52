"""Collision detection between surfaces, and of points with colliders: broad phase, proximity, continuous detection.

`collision.rigid` detects the contacts of rigid bodies with each other.
"""

from continua.collision.broad_phase import CollisionMesh, CollisionSurface
from continua.collision.ccd import find_collider_impacts, find_impacts, find_intersections, find_passages
from continua.collision.colliders import ColliderContacts, ColliderQuery, ColliderSet, sphere_trace
from continua.collision.proximity import ContactCandidates, find_candidates

__all__ = [
    "ColliderContacts",
    "ColliderQuery",
    "ColliderSet",
    "CollisionMesh",
    "CollisionSurface",
    "ContactCandidates",
    "find_candidates",
    "find_collider_impacts",
    "find_impacts",
    "find_intersections",
    "find_passages",
    "sphere_trace",
]
