"""Detection of collisions: what it senses, how fast, its false alarms, and a blow at 0.5 m/s."""
