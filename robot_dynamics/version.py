"""Version of the package, here and in package.xml and setup.py."""

__version__ = "0.1.0"
