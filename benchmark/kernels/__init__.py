"""Speed of the kernels beside that of peers."""
