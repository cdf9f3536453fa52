"""Time integrators: implicit Euler, Newmark, energy-momentum, explicit, semi-implicit (Irving 2007). One per file."""

from continua.deformable.integrators.energy_momentum import EnergyMomentum
from continua.deformable.integrators.explicit import Explicit
from continua.deformable.integrators.implicit import ImplicitIntegrator
from continua.deformable.integrators.implicit_euler import ImplicitEuler
from continua.deformable.integrators.integrator import BodyState, Integrator, StepInput, Stepper
from continua.deformable.integrators.newmark import Newmark
from continua.deformable.integrators.semi_implicit import SemiImplicit
from continua.errors import InputError
from continua.validation import choice, shortened

__all__ = [
    "INTEGRATORS",
    "BodyState",
    "EnergyMomentum",
    "Explicit",
    "ImplicitEuler",
    "Integrator",
    "Newmark",
    "SemiImplicit",
    "StepInput",
    "Stepper",
    "choose_integrator",
]

INTEGRATORS: dict[str, type[Integrator]] = {
    kind.name: kind for kind in (ImplicitEuler, Newmark, EnergyMomentum, Explicit, SemiImplicit)
}
"""All integrators by name."""


def choose_integrator(integrator: "Integrator | str", newton: int | None = None) -> Integrator:
    """Return an integrator, given as an object or by name; `newton` sets the iterations of an implicit one."""
    if isinstance(integrator, Integrator):
        if newton is not None:
            raise InputError(
                f"give newton to the integrator: {type(integrator).__name__}(newton={shortened(newton)})"
            )
        return integrator
    kind = INTEGRATORS[choice(integrator, "integrator", INTEGRATORS)]
    if newton is None:
        return kind()
    if not issubclass(kind, ImplicitIntegrator):
        raise InputError(f"the integrator {integrator} is explicit and has no Newton iterations")
    return kind(newton=newton)
