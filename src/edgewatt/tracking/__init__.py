"""Trainings kept in MLflow: parameters, scores, figures and predictors, and predictors loaded back from there."""
