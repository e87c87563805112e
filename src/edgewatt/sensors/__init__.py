"""Power sensors: what a board measures of itself, which of it is the board's input, and how fresh it is."""
