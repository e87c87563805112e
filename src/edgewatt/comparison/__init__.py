"""What changed between two results, and whether it is more than noise."""
