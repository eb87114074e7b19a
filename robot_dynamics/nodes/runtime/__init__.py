"""Runtime of every node: its robot, its life cycle, its loop and its process."""
