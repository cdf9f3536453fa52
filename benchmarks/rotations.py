"""Rotations of 3x3 matrices: in lanes, one by one, and with NumPy, side by side in one run.

Vectorisation is lost silently, and a loss of five times looks like nothing; this keeps watch over it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from benchmarks.report import Result
from continua.numerics import kernel, load3, rotation, set_threads, signed_svd_batch, store3
from continua.numerics.polar import _rotate_each


@kernel
def _one_by_one(F, R):
    for i in range(F.shape[0]):
        store3(R, i, rotation(load3(F, i)))


def _numpy(F: np.ndarray, R: np.ndarray) -> None:
    """Find the signed rotation as NumPy would: flip the last column where the sign asks for it."""
    U, _, Vt = np.linalg.svd(F)
    U[:, :, 2] *= np.linalg.det(U @ Vt)[:, None]
    np.matmul(U, Vt, out=R)


def _random_rotations(rng: np.random.Generator, n: int) -> np.ndarray:
    Q, _ = np.linalg.qr(rng.standard_normal((n, 3, 3)))
    Q[:, :, 2] *= np.linalg.det(Q)[:, None]
    return Q


def _cases(n: int) -> dict[str, np.ndarray]:
    """Matrices of soft bodies: mildly and strongly strained, with inverted ones, and near a line."""
    rng = np.random.default_rng(7)
    P, Q = _random_rotations(rng, n), _random_rotations(rng, n)
    stretches = {
        "mild (0.7 to 1.4)": rng.uniform(0.7, 1.4, (n, 3)),
        "strong (0.1 to 3)": rng.uniform(0.1, 3.0, (n, 3)),
        "tangled (-1 to 1)": rng.uniform(-1.0, 1.0, (n, 3)),
        "collapsed to a line": np.array([1.0, 1e-6, 1e-7]) * rng.uniform(0.5, 1.0, (n, 3)),
    }
    return {name: P @ (f[:, :, None] * Q) for name, f in stretches.items()}


def _seconds(function: Callable, F: np.ndarray, R: np.ndarray, repeats: int) -> float:
    function(F, R)
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        function(F, R)
        best = min(best, time.perf_counter() - start)
    return best


def main(threads: int | None = None) -> Result:
    """Measure nanoseconds for each of 200,000 matrices: in lanes on one and on all threads, one by one, NumPy."""
    if threads is not None:
        set_threads(threads)
    n = 200_000
    rows: list[dict[str, object]] = []
    ratio = np.inf
    for name, F in _cases(n).items():
        R = np.empty_like(F)
        U, f, V = signed_svd_batch(F)
        lanes = _seconds(_rotate_each.serial, F, R, 15)
        fit = f[:, 1] + f[:, 2] > 1e-2 * f[:, 0]
        off = np.abs(R - U @ V.transpose(0, 2, 1))[fit].max(initial=0.0)
        every = _seconds(_rotate_each.parallel, F, R, 15)
        single = _seconds(_one_by_one, F, R, 3)
        few = F[: n // 10]
        library = _seconds(_numpy, few, np.empty_like(few), 2) * n / len(few)
        to_ns = 1e9 / n
        if name.startswith(("mild", "strong")):
            ratio = min(ratio, single / lanes)
        rows.append(
            {
                "case": name,
                "lanes [ns]": lanes * to_ns,
                "all threads [ns]": every * to_ns,
                "one by one [ns]": single * to_ns,
                "numpy [ns]": library * to_ns,
                "one by one / lanes": single / lanes,
                "numpy / lanes": library / lanes,
                "difference to SVD": float(off),
            }
        )
    note = "The ratio is one by one over lanes, the smaller of mild and strong."
    return Result("Rotations of 3x3 matrices, one thread unless said", rows, float(ratio), 5.0, [note])
