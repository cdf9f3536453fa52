"""Compiled constraint rows of joints: their errors and Jacobians."""

from __future__ import annotations

from math import atan2

from continua.contact_solver.rigid_contact_layout import rotate
from continua.contact_solver.rigid_direct import BIAS, LAMBDA, MAX_IMPULSE, MIN_IMPULSE
from continua.numerics import inline, kernel

__all__ = ["correct_rows", "row_errors", "write_rows"]

# kinds of rows
(
    POINT,
    TILT,
    ROTATION,
    ACROSS,
    ANGLE_LOW,
    ANGLE_HIGH,
    TRANSLATION_LOW,
    TRANSLATION_HIGH,
    ANGULAR_MOTOR,
    LINEAR_MOTOR,
) = range(10)
# columns of D: anchors on both bodies, axis on both, two vectors across it on the second, one across on the first
# (in own axes), and the rotation from the second to the first at the start, row by row
ANCHOR_A, ANCHOR_B, AXIS_A, AXIS_B, SIDE_1, SIDE_2, REFERENCE_A, REST_ROTATION = 0, 3, 6, 9, 12, 15, 18, 21
WIDTH = 30

_MAX_CORRECTION_SPEED = 0.01  # m/s or rad/s: largest speed with which errors are corrected
_LIMIT_CORRECTION_RATE = 0.2  # fraction of an exceeded limit that is corrected in a substep


@inline
def _cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inline
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inline
def _linear_row(J, m, d, ra, rb):
    """Write the row of d . (velocity of a's anchor - velocity of b's anchor)."""
    ta, tb = _cross(ra, d), _cross(rb, d)
    for k in range(3):
        J[m, k], J[m, 6 + k] = d[k], -d[k]
        J[m, 3 + k], J[m, 9 + k] = ta[k], -tb[k]


@inline
def _angular_row(J, m, d):
    """Write the row of d . (angular velocity of a - of b)."""
    for k in range(3):
        J[m, k] = J[m, 6 + k] = 0.0
        J[m, 3 + k], J[m, 9 + k] = d[k], -d[k]


@inline
def _rotation_error(R, a, b, D, j):
    """Return the rotation vector (its sine) of a against its rest rotation relative to b."""
    ex, ey, ez = 0.0, 0.0, 0.0
    # columns of R_a against those of R_b S, half the sum of their cross products
    for c in range(3):
        x, y, z = D[j, REST_ROTATION + c], D[j, REST_ROTATION + 3 + c], D[j, REST_ROTATION + 6 + c]
        bc = (
            R[b, 0] * x + R[b, 1] * y + R[b, 2] * z,
            R[b, 3] * x + R[b, 4] * y + R[b, 5] * z,
            R[b, 6] * x + R[b, 7] * y + R[b, 8] * z,
        )
        tx, ty, tz = _cross(bc, (R[a, c], R[a, 3 + c], R[a, 6 + c]))
        ex, ey, ez = ex + 0.5 * tx, ey + 0.5 * ty, ez + 0.5 * tz
    return ex, ey, ez


@inline
def _row(kind, component, X, R, a, b, D, j, J, m):
    """Write row m of a joint and return its error [m or rad]."""
    ra, rb = rotate(R, a, D, j, ANCHOR_A), rotate(R, b, D, j, ANCHOR_B)
    d = (
        X[a, 0] + ra[0] - X[b, 0] - rb[0],
        X[a, 1] + ra[1] - X[b, 1] - rb[1],
        X[a, 2] + ra[2] - X[b, 2] - rb[2],
    )
    if kind == POINT:
        e = (1.0 if component == 0 else 0.0, 1.0 if component == 1 else 0.0, 1.0 if component == 2 else 0.0)
        _linear_row(J, m, e, ra, rb)
        return d[component]
    if kind == ROTATION:
        e = (1.0 if component == 0 else 0.0, 1.0 if component == 1 else 0.0, 1.0 if component == 2 else 0.0)
        _angular_row(J, m, e)
        return _rotation_error(R, a, b, D, j)[component]
    axis_b = rotate(R, b, D, j, AXIS_B)
    if kind in (ACROSS, TRANSLATION_LOW, TRANSLATION_HIGH, LINEAR_MOTOR):
        # a direction fixed to b, with the lever arm up to a's anchor
        t = axis_b
        if kind == ACROSS:
            t = rotate(R, b, D, j, SIDE_1 if component == 0 else SIDE_2)
        _linear_row(J, m, t, ra, (rb[0] + d[0], rb[1] + d[1], rb[2] + d[2]))
        return _dot(t, d)
    axis_a = rotate(R, a, D, j, AXIS_A)
    if kind == TILT:
        t = rotate(R, b, D, j, SIDE_1 if component == 0 else SIDE_2)
        _angular_row(J, m, t)
        return _dot(t, _cross(axis_b, axis_a))
    _angular_row(J, m, axis_b)
    mark_a, mark_b = rotate(R, a, D, j, REFERENCE_A), rotate(R, b, D, j, SIDE_1)
    return atan2(_dot(axis_b, _cross(mark_b, mark_a)), _dot(mark_b, mark_a))


@kernel
def write_rows(X, R, h, kind, component, joint, bodies, D, targets, max_force, forces, first, ab, J, row):
    """Write all rows of joints from row `first` on.

    Args:
        X: Positions of the instances [n, 3].
        R: Rotations [n, 9].
        h: Substep [s].
        kind: Kind of each row.
        component: Its direction.
        joint: Its joint.
        bodies: Instances of each joint [k, 2].
        D: The joints [k, 30].
        targets: Limit or speed of each row.
        max_force: Largest force or torque of a motor's row.
        forces: Forces of the last substep, one per row.
        first: Number of the first row.
        ab: Written, as J and row; see `contact_solver.rigid_direct`.
        J: See ab.
        row: See ab.
    """
    for r in range(kind.shape[0]):
        m, j, k = first + r, joint[r], kind[r]
        ab[m, 0], ab[m, 1] = bodies[j, 0], bodies[j, 1]
        error = _row(k, component[r], X, R, bodies[j, 0], bodies[j, 1], D, j, J, m)
        row[m, LAMBDA] = h * forces[r]
        row[m, MIN_IMPULSE], row[m, MAX_IMPULSE] = -1e300, 1e300
        if k in (ANGULAR_MOTOR, LINEAR_MOTOR):
            row[m, BIAS] = -targets[r]
            row[m, MIN_IMPULSE], row[m, MAX_IMPULSE] = -h * max_force[r], h * max_force[r]
        elif k >= ANGLE_LOW:
            gap = error - targets[r]
            if k in (ANGLE_HIGH, TRANSLATION_HIGH):
                gap = -gap
                for d in range(12):
                    J[m, d] = -J[m, d]
            row[m, BIAS] = gap / h if gap > 0.0 else _LIMIT_CORRECTION_RATE * gap / h
            row[m, MIN_IMPULSE] = 0.0
        else:
            row[m, BIAS] = min(max(error / h, -_MAX_CORRECTION_SPEED), _MAX_CORRECTION_SPEED)


@kernel
def correct_rows(X, R, h, kind, component, joint, bodies, D, first, row, scratch):
    """Add the errors at trial poses to the biases of equality rows; return the largest error."""
    worst = 0.0
    for r in range(kind.shape[0]):
        if kind[r] < ANGLE_LOW:
            j = joint[r]
            error = _row(kind[r], component[r], X, R, bodies[j, 0], bodies[j, 1], D, j, scratch, 0)
            row[first + r, BIAS] += error / h
            worst = max(worst, abs(error))
    return worst


@kernel
def row_errors(X, R, kind, component, joint, bodies, D, scratch, errors):
    """Write the error, angle or displacement of every row."""
    for r in range(kind.shape[0]):
        j = joint[r]
        errors[r] = _row(kind[r], component[r], X, R, bodies[j, 0], bodies[j, 1], D, j, scratch, 0)
