"""Explicit SIMD types for kernels whose loops LLVM does not vectorise, and the instructions they need."""
