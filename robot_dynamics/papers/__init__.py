"""Code that only readers of the papers call: their arms, motions and simplified models."""
