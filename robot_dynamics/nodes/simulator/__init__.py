"""simulator_node: effort commands in, joint states out."""
