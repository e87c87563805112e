"""Power joined to layer runtimes."""
