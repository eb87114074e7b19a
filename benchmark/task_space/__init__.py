"""Task-space control: rates and delays, contact with a table, and the cost of a cycle."""
