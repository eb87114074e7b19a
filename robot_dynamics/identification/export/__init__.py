"""Files of an identified robot: its URDF, parameters of nodes, a report."""
