"""What a sampled loop with delay allows: the edge of stability, and gains away from it."""
