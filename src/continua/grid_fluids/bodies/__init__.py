"""The grid fluids as bodies of a world: smoke, liquids, wind tunnels."""
