"""Compiled rows of joints: what is wrong with each, and how velocities change that."""

from __future__ import annotations

from math import atan2

from continua.contact.direct import BIAS, LAMBDA, LEAST, MOST
from continua.contact.impulses import turned
from continua.numerics import inline, kernel

__all__ = ["correct_rows", "row_errors", "write_rows"]

# kinds of rows
POINT, TILT, TURN, ACROSS, ANGLE_LOW, ANGLE_HIGH, WAY_LOW, WAY_HIGH, SPIN, SLIDE = range(10)
# columns of D: places on both pieces, axis on both, two vectors across it on the second, one across on the first
# (own axes), and the rotation from the second to the first at the start, row by row
PLACE_A, PLACE_B, AXIS_A, AXIS_B, SIDE_1, SIDE_2, MARK_A, START = 0, 3, 6, 9, 12, 15, 18, 21
WIDTH = 30

_BACK = 0.01  # m/s or rad/s: what is left of an error goes back no faster
_RATE = 0.2  # part of an overrun limit that is taken back in a small step


@inline
def _cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inline
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inline
def _line(J, m, d, ra, rb):
    """Write the row of d . (velocity of a's place - velocity of b's place)."""
    ta, tb = _cross(ra, d), _cross(rb, d)
    for k in range(3):
        J[m, k], J[m, 6 + k] = d[k], -d[k]
        J[m, 3 + k], J[m, 9 + k] = ta[k], -tb[k]


@inline
def _turning(J, m, d):
    """Write the row of d . (angular velocity of a - of b)."""
    for k in range(3):
        J[m, k] = J[m, 6 + k] = 0.0
        J[m, 3 + k], J[m, 9 + k] = d[k], -d[k]


@inline
def _error_turn(R, a, b, D, j):
    """Return the rotation vector (its sine) from where a should be, as b stands, to where it is."""
    ex, ey, ez = 0.0, 0.0, 0.0
    # columns of R_a against those of R_b S, half the sum of their cross products
    for c in range(3):
        x, y, z = D[j, START + c], D[j, START + 3 + c], D[j, START + 6 + c]
        bc = (
            R[b, 0] * x + R[b, 1] * y + R[b, 2] * z,
            R[b, 3] * x + R[b, 4] * y + R[b, 5] * z,
            R[b, 6] * x + R[b, 7] * y + R[b, 8] * z,
        )
        tx, ty, tz = _cross(bc, (R[a, c], R[a, 3 + c], R[a, 6 + c]))
        ex, ey, ez = ex + 0.5 * tx, ey + 0.5 * ty, ez + 0.5 * tz
    return ex, ey, ez


@inline
def _row(kind, part, X, R, a, b, D, j, J, m):
    """Write row m of a joint and return its error [m or rad]."""
    ra, rb = turned(R, a, D, j, PLACE_A), turned(R, b, D, j, PLACE_B)
    d = (
        X[a, 0] + ra[0] - X[b, 0] - rb[0],
        X[a, 1] + ra[1] - X[b, 1] - rb[1],
        X[a, 2] + ra[2] - X[b, 2] - rb[2],
    )
    if kind == POINT:
        e = (1.0 if part == 0 else 0.0, 1.0 if part == 1 else 0.0, 1.0 if part == 2 else 0.0)
        _line(J, m, e, ra, rb)
        return d[part]
    if kind == TURN:
        e = (1.0 if part == 0 else 0.0, 1.0 if part == 1 else 0.0, 1.0 if part == 2 else 0.0)
        _turning(J, m, e)
        return _error_turn(R, a, b, D, j)[part]
    axis_b = turned(R, b, D, j, AXIS_B)
    if kind in (ACROSS, WAY_LOW, WAY_HIGH, SLIDE):
        # a direction fixed to b, with the lever up to a's place
        t = axis_b
        if kind == ACROSS:
            t = turned(R, b, D, j, SIDE_1 if part == 0 else SIDE_2)
        _line(J, m, t, ra, (rb[0] + d[0], rb[1] + d[1], rb[2] + d[2]))
        return _dot(t, d)
    axis_a = turned(R, a, D, j, AXIS_A)
    if kind == TILT:
        t = turned(R, b, D, j, SIDE_1 if part == 0 else SIDE_2)
        _turning(J, m, t)
        return _dot(t, _cross(axis_b, axis_a))
    _turning(J, m, axis_b)
    mark_a, mark_b = turned(R, a, D, j, MARK_A), turned(R, b, D, j, SIDE_1)
    return atan2(_dot(axis_b, _cross(mark_b, mark_a)), _dot(mark_b, mark_a))


@kernel
def write_rows(X, R, h, kind, part, joint, ends, D, value, strength, forces, first, ab, J, row):
    """Write all rows of joints from row `first` on.

    Args:
        X: Positions of the pieces [n, 3].
        R: Rotations [n, 9].
        h: Small step [s].
        kind: Kind of each row.
        part: Which of the directions it is.
        joint: Its joint.
        ends: Pieces of each joint [k, 2].
        D: The joints [k, 30].
        value: Limit or speed of each row.
        strength: Largest force or torque of a motor's row.
        forces: Forces of the last small step, one a row.
        first: Number of the first row.
        ab: Written, as J and row; see `contact.direct`.
        J: See ab.
        row: See ab.
    """
    for r in range(kind.shape[0]):
        m, j, k = first + r, joint[r], kind[r]
        ab[m, 0], ab[m, 1] = ends[j, 0], ends[j, 1]
        error = _row(k, part[r], X, R, ends[j, 0], ends[j, 1], D, j, J, m)
        row[m, LAMBDA] = h * forces[r]
        row[m, LEAST], row[m, MOST] = -1e300, 1e300
        if k in (SPIN, SLIDE):
            row[m, BIAS] = -value[r]
            row[m, LEAST], row[m, MOST] = -h * strength[r], h * strength[r]
        elif k >= ANGLE_LOW:
            gap = error - value[r]
            if k in (ANGLE_HIGH, WAY_HIGH):
                gap = -gap
                for d in range(12):
                    J[m, d] = -J[m, d]
            row[m, BIAS] = gap / h if gap > 0.0 else _RATE * gap / h
            row[m, LEAST] = 0.0
        else:
            row[m, BIAS] = min(max(error / h, -_BACK), _BACK)


@kernel
def correct_rows(X, R, h, kind, part, joint, ends, D, first, row, scratch):
    """Add what would be wrong at trial places to the biases of held rows; return the largest error."""
    worst = 0.0
    for r in range(kind.shape[0]):
        if kind[r] < ANGLE_LOW:
            j = joint[r]
            error = _row(kind[r], part[r], X, R, ends[j, 0], ends[j, 1], D, j, scratch, 0)
            row[first + r, BIAS] += error / h
            worst = max(worst, abs(error))
    return worst


@kernel
def row_errors(X, R, kind, part, joint, ends, D, scratch, errors):
    """Write the error, angle or way of every row."""
    for r in range(kind.shape[0]):
        j = joint[r]
        errors[r] = _row(kind[r], part[r], X, R, ends[j, 0], ends[j, 1], D, j, scratch, 0)
