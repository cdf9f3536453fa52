"""All joints of a world in arrays, as rows of the direct solve."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np
from numpy.typing import NDArray

from continua.contact.direct import LAMBDA
from continua.contact.outlines import axis_frame
from continua.errors import InputError
from continua.rigid import joint_kernels as kernels
from continua.rigid.joints import Joint, Motor, ends_of
from continua.rigid.pieces import Pieces

__all__ = ["JointRows"]

_TURN = 0.05  # rad: most that a joined piece turns in a small step


class JointRows:
    """The joints and motors of a world.

    Attributes:
        links: Pieces that are joined, both free to move [k, 2].
        barred: Pairs of pieces that do not touch because they are joined.
        ends: All pieces with joints.
        forces: Force or torque of every row in the last small step.
    """

    def __init__(self, joints: Sequence[Joint | Motor], pieces: Pieces) -> None:
        self._pieces = pieces
        held = [joint for joint in joints if isinstance(joint, Joint)]
        self._motors = [motor for motor in joints if isinstance(motor, Motor)]
        for thing in joints:
            if not isinstance(thing, (Joint, Motor)):
                raise InputError(f"joints are made by continua.joints, not {type(thing).__name__}")
        self.joints = held
        starts = {id(body): int(start) for body, start in zip(pieces.bodies, pieces.starts, strict=False)}
        self._ends = np.array([self._piece(joint, starts) for joint in held], np.int32).reshape(-1, 2)
        self._D = np.array([self._data(joint, *ends) for joint, ends in zip(held, self._ends, strict=True)])
        self._D = self._D.reshape(-1, kernels.WIDTH)
        rows = [
            (kind, part, value, j) for j, joint in enumerate(held) for kind, part, value in joint.all_rows()
        ]
        self._motor_rows = len(rows)
        for motor in self._motors:
            if not any(motor.joint is joint for joint in held):
                raise InputError("a Motor's joint must be among the world's joints too")
            rows.append((motor.kind, 0, 0.0, next(j for j, joint in enumerate(held) if joint is motor.joint)))
        self._kind = np.array([row[0] for row in rows], np.int32)
        self._part = np.array([row[1] for row in rows], np.int32)
        self._value = np.array([row[2] for row in rows], np.float64)
        self._joint = np.array([row[3] for row in rows], np.int32)
        self._strength = np.zeros(len(rows))
        self.forces = np.zeros(len(rows))
        self._scratch = np.zeros((1, 12))
        self._whole: tuple[JointRows, NDArray[np.intp]] | None = None  # of which these are some rows
        self.links = self._ends
        self.ends = np.unique(self._ends)
        free = [number for number, joint in enumerate(held) if not joint.collide]
        self.barred: list[tuple[int, int]] = [(int(self._ends[i, 0]), int(self._ends[i, 1])) for i in free]

    def among(self, pieces: NDArray[np.bool_]) -> JointRows:
        """Return the rows of the joints that hold some of the pieces, by a mask [n]."""
        return self._some(np.asarray(pieces[self._ends].any(axis=1)))

    @property
    def numbers(self) -> NDArray[np.intp]:
        """Numbers of the rows among those of all joints."""
        return np.arange(self.row_count) if self._whole is None else self._whole[1]

    def take_forces(self, rows: NDArray[np.intp], forces: NDArray[np.float64]) -> None:
        """Take over the forces of some rows from another solve."""
        self.forces[rows] = forces
        if self._whole is not None:
            self._whole[0].forces[self._whole[1]] = self.forces

    def without(self, pieces: NDArray[np.bool_]) -> JointRows:
        """Return the rows of the joints that hold none of the pieces, by a mask [n]."""
        return self._some(np.asarray(~pieces[self._ends].any(axis=1)))

    def _some(self, joints: NDArray[np.bool_]) -> JointRows:
        if joints.all():
            return self
        self._take_motors()
        rows = np.flatnonzero(joints[self._joint])
        some = copy(self)
        for name in ("_kind", "_part", "_value", "_joint", "_strength", "forces"):
            setattr(some, name, getattr(self, name)[rows])
        some._motors = []
        some.links = self._ends[joints]
        some.ends = np.unique(some.links)
        some._whole = (self, rows)
        return some

    @property
    def row_count(self) -> int:
        """Number of rows."""
        return len(self._kind)

    def lines(self) -> NDArray[np.float64]:
        """Return lines from each joint to the centres of its bodies, where they are now [m], shape [k, 2, 3]."""
        p = self._pieces
        p.refresh()
        lines = []
        for side in range(2):
            pieces = self._ends[:, side]
            arm = np.einsum("kij,kj->ki", p.R[pieces].reshape(-1, 3, 3), self._D[:, 3 * side : 3 * side + 3])
            line = np.stack([p.X[pieces] + arm, p.X[pieces]], axis=1)
            lines.append(line[pieces < p.count])
        return np.concatenate(lines)

    @property
    def error(self) -> float:
        """Largest error of all joints now [m or rad]."""
        held = self._kind < kernels.ANGLE_LOW
        return float(np.abs(self.measure()[held]).max(initial=0.0))

    def fastest(self) -> float:
        """Return how many small steps a second the joints want [1/s].

        A piece pulled with a force F at a place r away from its centre swings with sqrt(F r / I): a taut chain swings
        fast, and a small step should not be longer than such a swing. Nor should a joined piece turn by more than
        a twentieth of a radian in it, or the end of a whip tears off.
        """
        held = self._kind == kernels.POINT
        if not held.any():
            return 0.0
        ends = self._ends[self._joint[held]]
        spins = np.linalg.norm(self._pieces.V[ends[self._pieces.moves[ends]], 3:], axis=1)
        squares = np.bincount(self._joint[held], self.forces[held] ** 2, minlength=len(self._ends))
        swing = np.zeros(len(self._ends))
        for side in range(2):
            pieces = self._ends[:, side]
            lever = np.linalg.norm(self._D[:, 3 * side : 3 * side + 3], axis=1)
            middle = np.sort(self._pieces.J[pieces], axis=1)[:, 1]
            swing = np.maximum(
                swing, np.where(self._pieces.moves[pieces], np.sqrt(squares) * lever / middle, 0.0)
            )
        return max(float(np.sqrt(swing.max())), float(spins.max(initial=0.0)) / _TURN)

    def measure(self) -> NDArray[np.float64]:
        """Return the error, angle or way of every row now."""
        errors = np.zeros(self.row_count)
        p = self._pieces
        p.refresh()
        kernels.row_errors(
            p.X, p.R, self._kind, self._part, self._joint, self._ends, self._D, self._scratch, errors
        )
        return errors

    def write(
        self, X: NDArray, R: NDArray, h: float, ab: NDArray, J: NDArray, row: NDArray, first: int
    ) -> None:
        """Write all rows from row `first` on; see `contact.direct`."""
        self._take_motors()
        kernels.write_rows(
            X, R, h, self._kind, self._part, self._joint, self._ends, self._D, self._value, self._strength,
            self.forces, first, ab, J, row,
        )  # fmt: skip

    def _take_motors(self) -> None:
        for number, motor in enumerate(self._motors):
            self._value[self._motor_rows + number] = motor.speed
            self._strength[self._motor_rows + number] = motor.strength

    def correct(self, X: NDArray, R: NDArray, h: float, row: NDArray, first: int) -> float:
        """Add what would be wrong at trial places to the biases; return the largest error [m or rad]."""
        return float(
            kernels.correct_rows(
                X, R, h, self._kind, self._part, self._joint, self._ends, self._D, first, row, self._scratch
            )
        )

    def keep(self, row: NDArray, first: int, h: float) -> None:
        """Remember the forces for the next small step."""
        self.forces[:] = row[first:, LAMBDA] / h
        if self._whole is not None:
            whole, rows = self._whole
            whole.forces[rows] = self.forces

    def _piece(self, joint: Joint, starts: dict[int, int]) -> tuple[int, int]:
        numbers = []
        for end in (joint.a, joint.b):
            group, copy = ends_of(end)
            if group is None:
                numbers.append(len(self._pieces.X) - 1)  # the world itself
            elif id(group) not in starts:
                raise InputError(f"a {type(joint).__name__} names '{group.name}', which is not in the world")
            else:
                numbers.append(starts[id(group)] + copy)
        return numbers[0], numbers[1]

    def _data(self, joint: Joint, a: int, b: int) -> NDArray[np.float64]:
        """Return a joint in its pieces' own axes at the start."""
        p = self._pieces
        x, turns = p.rest()
        ra, rb = turns[a], turns[b]
        spot, axis = joint.spot, joint.direction
        frame = axis_frame(axis)
        out = np.empty(kernels.WIDTH)
        out[0:3], out[3:6] = (spot - x[a]) @ ra, (spot - x[b]) @ rb
        out[6:9], out[9:12] = axis @ ra, axis @ rb
        out[12:15], out[15:18] = frame[0] @ rb, frame[1] @ rb
        out[18:21] = frame[0] @ ra
        out[21:30] = (rb.T @ ra).ravel()
        return out
