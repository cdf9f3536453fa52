"""Grid fluids."""
