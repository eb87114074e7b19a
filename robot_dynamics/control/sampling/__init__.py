"""Feedback of a sampled loop with delay: its stability limit, and gains within it."""
