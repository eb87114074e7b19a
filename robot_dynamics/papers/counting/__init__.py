"""Operation counts of formulations, as the publications count them."""
