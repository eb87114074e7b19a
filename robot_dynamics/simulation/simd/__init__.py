"""The compiled closed loop of a batch of robots, one robot per SIMD lane."""
