"""Recording a network on a real board: the power logger, idle power, the benchmark and what surrounds it."""
