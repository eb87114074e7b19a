"""A URDF becomes a robot: its elements checked, its tree, its transmissions."""
