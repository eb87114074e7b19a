"""Operation counts of the publications beside those of the equations here."""
