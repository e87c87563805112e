PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests wait for processes of their own at times, so there is one more worker than cores.
WORKERS = $(shell $(PYTHON) -c "import os; print((os.cpu_count() or 1) + 1)")

.DEFAULT_GOAL := help
.PHONY: help demo test lint format docs clean

help: ## Show the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/make \1	\2/'

demo: $(VENV)/.installed ## The whole flow on the simulated board
	$(BIN)/edgewatt demo

test: $(VENV)/.installed-dev ## Run the tests
	$(BIN)/pytest -n $(WORKERS) --dist worksteal

lint: $(VENV)/.installed-dev ## Style, docstrings and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.installed-dev ## Put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.installed-dev ## Bring the pages that are made up to date, and build the site in site/
	$(BIN)/python tools/command_line_page.py
	$(BIN)/python tools/run_tutorial.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

clean: ## Remove what the targets made
	rm -rf $(VENV) demo site build dist .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "edgewatt needs Python 3.10 or newer: make PYTHON=python3.10 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-dev: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.installed
