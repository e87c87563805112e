"""Data sets under version control with DVC: pushed to a remote, and pulled from it."""
