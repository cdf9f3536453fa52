"""Water in a basin, and a block of wood that floats as deep as Archimedes says."""

import numpy as np

import continua as ct

RADIUS, WOOD, SIDE, LEVEL = 0.0125, 600.0, 0.4, 0.25

water = ct.Fluid(
    ((-SIDE / 2, 0.0, -SIDE / 2), (SIDE / 2, LEVEL, SIDE / 2)),
    particle_radius=RADIUS,
    xsph=0.1,
    boundary="density_map",
)
block = ct.RigidBody(ct.Box((0.0, LEVEL + 0.1, 0.0), (0.2, 0.16, 0.2)), density=WOOD)
basin = ct.Box((0.0, 0.4, 0.0), (SIDE, 0.8, SIDE), inside=True)
world = ct.World([water, block], colliders=[basin], dt=0.01)

heights = [frame["block"].positions[:, 1].mean() for frame in world.run(seconds=2.0, fps=20)]
print(f"{water.node_count} particles; the block fell from {heights[0]:.3f} m into the water")

# A floating body displaces its own mass of water, and raises the level by what it displaces.
draught = 0.16 * WOOD / 1000.0
level = LEVEL + 0.2 * 0.2 * draught / SIDE**2
expected = level - draught + 0.08
floats = float(np.mean(heights[20:]))  # it still bobs a little
print(f"it floats with its middle at {floats:.3f} m; Archimedes says {expected:.3f} m")
assert abs(floats - expected) < RADIUS
