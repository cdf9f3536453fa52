"""Semi-Lagrangian transport, and extrapolation of quantities across boundaries."""
