"""The grid, its domain boundary, and the obstacles that cut its cells."""
