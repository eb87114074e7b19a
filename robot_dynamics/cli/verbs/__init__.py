"""The verbs of the command line, each in the file of its name."""
