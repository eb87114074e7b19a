"""What only a reader of the papers calls: their arms, motions, simplified models and counts."""
