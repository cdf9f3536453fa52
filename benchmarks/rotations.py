"""Rotations of 3x3 matrices: in SIMD lanes, one at a time, and with NumPy.

A compiler that stops vectorising does so silently; this benchmark shows it, as a loss of about five times.
"""

from __future__ import annotations

import numpy as np

import continua as ct
from benchmarks.report import Result
from benchmarks.run import Run
from continua.numerics import kernel, load3, rotation, rotation_batch, signed_svd_batch, store3


@kernel
def _one_at_a_time(F, R):
    for i in range(F.shape[0]):
        store3(R, i, rotation(load3(F, i)))


def _numpy(F: np.ndarray) -> np.ndarray:
    """Return the rotations by NumPy's SVD; the last column changes sign where the product is a reflection."""
    U, _, Vt = np.linalg.svd(F)
    U[:, :, 2] *= np.linalg.det(U @ Vt)[:, None]
    return U @ Vt


def _random_rotations(rng: np.random.Generator, n: int) -> np.ndarray:
    Q, _ = np.linalg.qr(rng.standard_normal((n, 3, 3)))
    Q[:, :, 2] *= np.linalg.det(Q)[:, None]
    return Q


def _cases(n: int) -> dict[str, np.ndarray]:
    """Return matrices of soft bodies: mildly and strongly strained, partly inverted, and nearly collapsed to a line."""
    rng = np.random.default_rng(7)
    P, Q = _random_rotations(rng, n), _random_rotations(rng, n)
    stretches = {
        "mild (0.7 to 1.4)": rng.uniform(0.7, 1.4, (n, 3)),
        "strong (0.1 to 3)": rng.uniform(0.1, 3.0, (n, 3)),
        "tangled (-1 to 1)": rng.uniform(-1.0, 1.0, (n, 3)),
        "collapsed to a line": np.array([1.0, 1e-6, 1e-7]) * rng.uniform(0.5, 1.0, (n, 3)),
    }
    return {name: P @ (f[:, :, None] * Q) for name, f in stretches.items()}


def main(run: Run) -> Result:
    """Measure nanoseconds per matrix: in lanes on one and on all threads, one at a time, and with NumPy."""
    threads = run.set_threads(2)
    n = run.choose(1_024, 200_000)
    rows: list[dict[str, object]] = []
    ratios = []
    cases = _cases(n)
    for name in run.cases(list(cases)):
        F = cases[name]
        U, f, V = signed_svd_batch(F)
        fit = f[:, 1] + f[:, 2] > 1e-2 * f[:, 0]
        off = np.abs(rotation_batch(F) - U @ V.transpose(0, 2, 1))[fit].max(initial=0.0)
        ct.set_threads(1)
        lanes = run.least(lambda F=F: rotation_batch(F), 15)
        ct.set_threads(threads)
        every = run.least(lambda F=F: rotation_batch(F), 15)
        R = np.empty_like(F)
        single = run.least(lambda F=F, R=R: _one_at_a_time(F, R), 3)
        few = F[: n // 10]
        library = run.least(lambda few=few: _numpy(few), 2) * n / len(few)
        to_ns = 1e9 / n
        if name.startswith(("mild", "strong")):
            ratios.append(single / lanes)
        rows.append(
            {
                "case": name,
                "lanes [ns]": lanes * to_ns,
                f"lanes, {threads} threads [ns]": every * to_ns,
                "one at a time [ns]": single * to_ns,
                "numpy [ns]": library * to_ns,
                "one at a time / lanes": single / lanes,
                "numpy / lanes": library / lanes,
                "difference to SVD": float(off),
            }
        )
    note = "ratio = one at a time over lanes, the smaller of mild and strong"
    return Result("Rotations of 3x3 matrices, on one thread unless stated", rows, min(ratios), 5.0, [note])
