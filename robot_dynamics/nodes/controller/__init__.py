"""controller_node: desired and measured motion in, effort commands out."""
