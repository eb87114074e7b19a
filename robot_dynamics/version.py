"""Version of the package, here and in package.xml and setup.py, and address of its documents."""

__version__ = "0.1.0"

SITE = "https://robot-dynamics.example/docs"
"""Address of the documentation, for messages: `f"{SITE}/nodes.html"`."""
