"""Networks as lists of the layers that a backend runs."""
