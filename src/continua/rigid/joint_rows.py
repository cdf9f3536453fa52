"""All joints of a world in arrays, as rows of the direct solver."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np
from numpy.typing import NDArray

from continua.contact_solver.rigid_direct import LAMBDA
from continua.errors import InputError
from continua.numerics.rotations import axis_frame
from continua.rigid import joint_kernels as kernels
from continua.rigid.joints import Joint, Motor, resolve_end
from continua.rigid.rigid_state import RigidState

__all__ = ["JointRows"]

_MAX_ROTATION = 0.05  # rad: largest rotation of a jointed instance in a substep


class JointRows:
    """The joints and motors of a world.

    Attributes:
        linked_pairs: Instances with a common joint [k, 2].
        excluded_pairs: Pairs of instances that do not collide because they have a common joint.
        jointed_instances: All instances with joints.
        forces: Force or torque of every row in the last substep.
    """

    def __init__(self, joints: Sequence[Joint | Motor], state: RigidState) -> None:
        self._state = state
        held = [joint for joint in joints if isinstance(joint, Joint)]
        self._motors = [motor for motor in joints if isinstance(motor, Motor)]
        for thing in joints:
            if not isinstance(thing, (Joint, Motor)):
                raise InputError(f"joints are made by continua.joints, not {type(thing).__name__}")
        self.joints = held
        starts = {id(body): int(start) for body, start in zip(state.bodies, state.starts, strict=False)}
        self._instances = np.array([self._instances_of(joint, starts) for joint in held], np.int32).reshape(
            -1, 2
        )
        self._data = np.array(
            [self._joint_data(joint, *ends) for joint, ends in zip(held, self._instances, strict=True)]
        )
        self._data = self._data.reshape(-1, kernels.WIDTH)
        rows = [
            (kind, component, target, j)
            for j, joint in enumerate(held)
            for kind, component, target in joint.all_rows()
        ]
        self._motor_rows = len(rows)
        for motor in self._motors:
            if not any(motor.joint is joint for joint in held):
                raise InputError("a Motor's joint must be among the world's joints too")
            rows.append((motor.kind, 0, 0.0, next(j for j, joint in enumerate(held) if joint is motor.joint)))
        self._kind = np.array([row[0] for row in rows], np.int32)
        self._component = np.array([row[1] for row in rows], np.int32)
        self._target = np.array([row[2] for row in rows], np.float64)
        self._joint = np.array([row[3] for row in rows], np.int32)
        self._max_force = np.zeros(len(rows))
        self.forces = np.zeros(len(rows))
        self._scratch = np.zeros((1, 12))
        self._parent: tuple[JointRows, NDArray[np.intp]] | None = (
            None  # the joints of which these are a subset, and the rows
        )
        self.linked_pairs = self._instances
        self.jointed_instances = np.unique(self._instances)
        free = [number for number, joint in enumerate(held) if not joint.collide]
        self.excluded_pairs: list[tuple[int, int]] = [
            (int(self._instances[i, 0]), int(self._instances[i, 1])) for i in free
        ]

    def subset_inside(self, instances: NDArray[np.bool_]) -> JointRows:
        """Return the rows of the joints that hold some of the instances, by a mask [n]."""
        return self._subset(np.asarray(instances[self._instances].any(axis=1)))

    @property
    def numbers(self) -> NDArray[np.intp]:
        """Indices of the rows among those of all joints."""
        return np.arange(self.row_count) if self._parent is None else self._parent[1]

    def set_forces(self, rows: NDArray[np.intp], forces: NDArray[np.float64]) -> None:
        """Set the forces of some rows from another solve."""
        self.forces[rows] = forces
        if self._parent is not None:
            self._parent[0].forces[self._parent[1]] = self.forces

    def subset_outside(self, instances: NDArray[np.bool_]) -> JointRows:
        """Return the rows of the joints that hold none of the instances, by a mask [n]."""
        return self._subset(np.asarray(~instances[self._instances].any(axis=1)))

    def _subset(self, joints: NDArray[np.bool_]) -> JointRows:
        if joints.all():
            return self
        self._read_motors()
        rows = np.flatnonzero(joints[self._joint])
        some = copy(self)
        for name in ("_kind", "_component", "_target", "_joint", "_max_force", "forces"):
            setattr(some, name, getattr(self, name)[rows])
        some._motors = []
        some.linked_pairs = self._instances[joints]
        some.jointed_instances = np.unique(some.linked_pairs)
        some._parent = (self, rows)
        return some

    @property
    def row_count(self) -> int:
        """Number of rows."""
        return len(self._kind)

    def anchor_lines(self) -> NDArray[np.float64]:
        """Return lines from each joint to the current centres of its bodies [m], shape [k, 2, 3]."""
        p = self._state
        p.update_derived()
        lines = []
        for side in range(2):
            instances = self._instances[:, side]
            arm = np.einsum(
                "kij,kj->ki", p.R[instances].reshape(-1, 3, 3), self._data[:, 3 * side : 3 * side + 3]
            )
            line = np.stack([p.X[instances] + arm, p.X[instances]], axis=1)
            lines.append(line[instances < p.count])
        return np.concatenate(lines)

    @property
    def error(self) -> float:
        """Largest current error of all joints [m or rad]."""
        holding = self._kind < kernels.ANGLE_LOW
        return float(np.abs(self.measure()[holding]).max(initial=0.0))

    def max_rate(self) -> float:
        """Return the substep rate that the joints need [1/s].

        A body pulled by a force F at a lever arm r oscillates with sqrt(F r / I): a taut chain oscillates fast, and
        substeps should not be longer than that. Nor should a jointed body rotate by more than a twentieth of a radian
        in a substep, or the end of a whip tears off.
        """
        holding = self._kind == kernels.POINT
        if not holding.any():
            return 0.0
        ends = self._instances[self._joint[holding]]
        angular_speeds = np.linalg.norm(self._state.V[ends[self._state.is_dynamic[ends]], 3:], axis=1)
        squares = np.bincount(self._joint[holding], self.forces[holding] ** 2, minlength=len(self._instances))
        frequency2 = np.zeros(len(self._instances))
        for side in range(2):
            instances = self._instances[:, side]
            lever = np.linalg.norm(self._data[:, 3 * side : 3 * side + 3], axis=1)
            middle = np.sort(self._state.J[instances], axis=1)[:, 1]
            frequency2 = np.maximum(
                frequency2,
                np.where(self._state.is_dynamic[instances], np.sqrt(squares) * lever / middle, 0.0),
            )
        return max(float(np.sqrt(frequency2.max())), float(angular_speeds.max(initial=0.0)) / _MAX_ROTATION)

    def measure(self) -> NDArray[np.float64]:
        """Return the current error, angle or displacement of every row."""
        errors = np.zeros(self.row_count)
        p = self._state
        p.update_derived()
        kernels.row_errors(
            p.X,
            p.R,
            self._kind,
            self._component,
            self._joint,
            self._instances,
            self._data,
            self._scratch,
            errors,
        )
        return errors

    def write(
        self, X: NDArray, R: NDArray, h: float, ab: NDArray, J: NDArray, row: NDArray, first: int
    ) -> None:
        """Write all rows from row `first` on; see `contact_solver.rigid_direct`."""
        self._read_motors()
        kernels.write_rows(
            X, R, h, self._kind, self._component, self._joint, self._instances, self._data, self._target,
            self._max_force, self.forces, first, ab, J, row,
        )  # fmt: skip

    def _read_motors(self) -> None:
        for number, motor in enumerate(self._motors):
            self._target[self._motor_rows + number] = motor.speed
            self._max_force[self._motor_rows + number] = motor.strength

    def correct(self, X: NDArray, R: NDArray, h: float, row: NDArray, first: int) -> float:
        """Add the errors at trial poses to the biases; return the largest error [m or rad]."""
        return float(
            kernels.correct_rows(
                X,
                R,
                h,
                self._kind,
                self._component,
                self._joint,
                self._instances,
                self._data,
                first,
                row,
                self._scratch,
            )
        )

    def store_forces(self, row: NDArray, first: int, h: float) -> None:
        """Store the forces for the next substep."""
        self.forces[:] = row[first:, LAMBDA] / h
        if self._parent is not None:
            whole, rows = self._parent
            whole.forces[rows] = self.forces

    def _instances_of(self, joint: Joint, starts: dict[int, int]) -> tuple[int, int]:
        numbers = []
        for end in (joint.a, joint.b):
            body, instance = resolve_end(end)
            if body is None:
                numbers.append(len(self._state.X) - 1)  # the world itself
            elif id(body) not in starts:
                raise InputError(f"a {type(joint).__name__} names '{body.name}', which is not in the world")
            else:
                numbers.append(starts[id(body)] + instance)
        return numbers[0], numbers[1]

    def _joint_data(self, joint: Joint, a: int, b: int) -> NDArray[np.float64]:
        """Return a joint in its instances' own axes at the start."""
        p = self._state
        x, rotations = p.rest_poses()
        ra, rb = rotations[a], rotations[b]
        anchor, axis = joint.anchor, joint.direction
        frame = axis_frame(axis)
        out = np.empty(kernels.WIDTH)
        out[0:3], out[3:6] = (anchor - x[a]) @ ra, (anchor - x[b]) @ rb
        out[6:9], out[9:12] = axis @ ra, axis @ rb
        out[12:15], out[15:18] = frame[0] @ rb, frame[1] @ rb
        out[18:21] = frame[0] @ ra
        out[21:30] = (rb.T @ ra).ravel()
        return out
