"""What executes a network and times its layers: one module a backend, `base.py` what a backend is."""
