"""One module a file format: each reads, checks and writes it."""
