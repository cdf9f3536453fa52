"""The control panel: parameters of a world that can be changed while it runs."""

from continua.studio.controls.control_panel import BoundaryForces, ControlPanel
from continua.studio.controls.parameters import Parameter

__all__ = ["BoundaryForces", "ControlPanel", "Parameter"]
