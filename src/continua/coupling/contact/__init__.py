"""Contact between soft bodies, rigid bodies and colliders: who may touch whom in a step, and their common solution."""

from continua.coupling.contact.stepper import ContactStepper
from continua.coupling.contact.system import SolidSystem

__all__ = ["ContactStepper", "SolidSystem"]
