"""Show a robot, its motion and its efforts in a browser."""
