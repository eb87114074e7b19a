"""Joint torques of endpoint forces, compliance and stiffness."""
