PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo test lint format clean

help: ## Show the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/make \1	\2/'

demo: $(VENV)/.installed ## The whole flow on the simulated board
	$(BIN)/edgewatt demo

test: $(VENV)/.installed-dev ## Run the tests
	$(BIN)/pytest -n auto --dist worksteal

lint: $(VENV)/.installed-dev ## Style, docstrings and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.installed-dev ## Put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## Remove what the targets made
	rm -rf $(VENV) demo build dist .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "edgewatt needs Python 3.10 or newer: make PYTHON=python3.10 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-dev: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.installed
