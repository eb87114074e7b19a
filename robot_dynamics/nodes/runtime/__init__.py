"""What every node runs on: its robot, its life cycle, its loop and its process."""
