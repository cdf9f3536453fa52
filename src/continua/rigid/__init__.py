"""Rigid bodies: their mass, contacts and joints."""

from continua.rigid import joints
from continua.rigid.body import RigidBody, RigidGroup
from continua.rigid.pull import RigidPull
from continua.rigid.system import RigidSystem

__all__ = ["RigidBody", "RigidGroup", "RigidPull", "RigidSystem", "joints"]
