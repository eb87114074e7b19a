"""Where frames are and how they move: forward, Jacobian, inverse."""
