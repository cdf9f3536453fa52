"""Explicit SIMD types for kernels whose loops LLVM does not vectorise by itself, and the instructions they need."""
