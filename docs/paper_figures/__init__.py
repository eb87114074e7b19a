"""The figures of the worked examples, redrawn: a file for each paper that has some."""
