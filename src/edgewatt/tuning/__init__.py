"""The search for better settings of a predictor, with Optuna."""
