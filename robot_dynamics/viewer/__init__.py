"""What the package computes, seen in a browser: the robot, what it does and what that takes."""
