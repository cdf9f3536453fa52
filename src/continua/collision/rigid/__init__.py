"""Collision detection of rigid bodies: sweep and prune, convex primitives, and meshes by their signed distance."""
