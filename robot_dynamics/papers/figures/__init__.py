"""Figures of the publications, redrawn; they need Matplotlib, of the extra `cli`."""
