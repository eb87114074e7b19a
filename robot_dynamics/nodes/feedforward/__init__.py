"""feedforward_node: trajectories in, the joint efforts that they take out."""
