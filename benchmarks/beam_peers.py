"""The clamped beam of `beam-step`, its simulation by MuJoCo and pyPBD, and the reference solution by scikit-fem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import splu

import continua as ct

Stepper = tuple[Callable[[], object], Callable[[], float]]


@dataclass(frozen=True)
class Beam:
    """The beam's mesh and constants, in SI units."""

    points: np.ndarray
    tets: np.ndarray
    clamped: np.ndarray
    tip: int
    young: float = 1e6
    poisson: float = 0.3
    density: float = 1000.0
    gravity: float = 9.81
    dt: float = 0.01

    @classmethod
    def make(cls, n: int) -> Beam:
        """Return the beam of (4 n) x n x n cells."""
        mesh = ct.mesh.box(size=(1.0, 0.25, 0.25), cells=(4 * n, n, n))
        tip = int(np.abs(mesh.points - [1.0, 0.125, 0.125]).sum(axis=1).argmin())
        return cls(mesh.points, mesh.tets, np.flatnonzero(mesh.points[:, 0] < 1e-9), tip)

    @property
    def lame(self) -> tuple[float, float]:
        """Lame's constants (lambda, mu) [Pa]."""
        return ct.Corotated(self.young, self.poisson).lame


def mujoco_flex(beam: Beam) -> Stepper:
    """MuJoCo's deformable with full degrees of freedom and its implicit `discrete` integrator."""
    import mujoco

    numbers = " ".join
    mass = beam.density * 1.0 * 0.25 * 0.25
    model = mujoco.MjModel.from_xml_string(f"""
        <mujoco>
          <option timestep="{beam.dt}" integrator="discrete" solver="CG" tolerance="1e-6"
                  gravity="0 0 -{beam.gravity}"><flag contact="disable"/></option>
          <size memory="400M"/>
          <worldbody>
            <flexcomp name="beam" type="direct" dim="3" mass="{mass}" radius="0.001"
                      point="{numbers(f"{c:.9g}" for c in beam.points.ravel())}"
                      element="{numbers(map(str, beam.tets.ravel()))}">
              <edge equality="false" damping="0"/>
              <contact selfcollide="none"/>
              <elasticity young="{beam.young}" poisson="{beam.poisson}" damping="0"/>
              <pin id="{numbers(map(str, beam.clamped))}"/>
            </flexcomp>
          </worldbody>
        </mujoco>""")
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    rest = float(data.flexvert_xpos[beam.tip, 2])
    return lambda: mujoco.mj_step(model, data), lambda: float(data.flexvert_xpos[beam.tip, 2]) - rest


def pypbd_xpbd(beam: Beam, substeps: int) -> Stepper:
    """XPBD finite elements of PositionBasedDynamics; its gravity points along -y, so the beam is rotated."""
    import pypbd

    simulation = pypbd.Simulation.getCurrent()
    simulation.initDefault()
    model = simulation.getModel()
    model.cleanup()
    turned = beam.points[:, [0, 2, 1]] * [1.0, 1.0, -1.0]
    tets = model.addTetModel(turned, beam.tets.ravel().astype(np.uint32))
    particles = model.getParticles()
    volumes = ct.TetMesh(beam.points, beam.tets).volumes
    mass = np.bincount(beam.tets.ravel(), weights=np.repeat(beam.density * volumes / 4, 4))
    mass[beam.clamped] = 0.0  # fixed; the default mass of a particle is 1 kg
    for i, m in enumerate(mass):
        particles.setMass(i, float(m))
    model.addSolidConstraints(tets, 3, beam.young, beam.poisson, 1.0, False, False)
    pypbd.TimeManager.getCurrent().setTimeStepSize(beam.dt)
    stepper = simulation.getTimeStep()
    stepper.setValueUInt(pypbd.TimeStepController.NUM_SUB_STEPS, substeps)
    rest = float(particles.getPosition(beam.tip)[1])
    return lambda: stepper.step(model), lambda: float(particles.getPosition(beam.tip)[1]) - rest


def reference_tips(beam: Beam, steps: int) -> np.ndarray:
    """Return the path of the tip [m] by scikit-fem: neo-Hookean, consistent mass, implicit Euler, full Newton."""
    import skfem
    from skfem.helpers import ddot, det, grad, identity, inv, mul, transpose

    lam, mu = beam.lame
    mesh = skfem.MeshTet(beam.points.T.copy(), beam.tets.T.astype(np.int64))
    basis = skfem.Basis(mesh, skfem.ElementVector(skfem.ElementTetP1()), intorder=1)
    exact = skfem.Basis(mesh, basis.elem, intorder=2)

    @skfem.LinearForm
    def force(v, w):
        F = grad(w["u"]) + identity(grad(w["u"]))
        G = transpose(inv(F))
        return ddot(mu * (F - G) + lam * np.log(det(F)) * G, grad(v))

    @skfem.BilinearForm
    def tangent(u, v, w):
        F = grad(w["u"]) + identity(grad(w["u"]))
        G, log_j = transpose(inv(F)), np.log(det(F))
        D = grad(u)
        dP = mu * D + (mu - lam * log_j) * mul(G, mul(transpose(D), G)) + lam * ddot(G, D) * G
        return ddot(dP, grad(v))

    mass = skfem.BilinearForm(lambda u, v, _: beam.density * (u * v).sum(0)).assemble(exact)
    weight = skfem.LinearForm(lambda v, _: -beam.density * beam.gravity * v[2]).assemble(exact)
    held = basis.nodal_dofs[:, beam.clamped].ravel()
    free = np.setdiff1d(np.arange(basis.N), held)
    tip = basis.nodal_dofs[2, beam.tip]
    u, v, h, tips = np.zeros(basis.N), np.zeros(basis.N), beam.dt, []
    for _ in range(steps):
        x = u + h * v
        x[held] = 0.0
        for _ in range(8):
            state = basis.interpolate(x)
            residual = mass @ (x - u - h * v) / h**2 + force.assemble(basis, u=state) - weight
            matrix = (mass / h**2 + tangent.assemble(basis, u=state)).tocsc()
            change = splu(matrix[np.ix_(free, free)]).solve(-residual[free])
            x[free] += change
            if np.abs(change).max() < 1e-8:
                break
        u, v = x, (x - u) / h
        tips.append(u[tip])
    return np.array(tips)
