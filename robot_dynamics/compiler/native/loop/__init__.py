"""A loop over time in native code: programs that run on blocks of SIMD lanes in every step."""
