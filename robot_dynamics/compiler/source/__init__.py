"""A program written out: Python, C, text and LaTeX."""
