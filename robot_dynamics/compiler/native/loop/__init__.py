"""A loop over time in native code: programs on a block of lanes, again and again."""
