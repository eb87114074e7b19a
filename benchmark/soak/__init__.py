"""An arm that is never left in peace, for minutes."""
