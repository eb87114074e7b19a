"""feedforward_node: trajectories in, reference and feedforward efforts out."""
