# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint format bench paper docs pictures clean

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $(READY)

demo: $(READY)
	$(BIN)/funnel demo

test: $(READY)
	$(BIN)/python -m pytest -n 2

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The peers are optional: what does not install is reported as such.
$(VENV)/.bench: $(READY)
	-$(BIN)/python -m pip install --quiet --editable '.[bench]'
	touch $@

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks $(ARGS)

# The paper's experiments; the documentation shows what comes out. About ten minutes on two idle cores.
paper: $(READY)
	$(BIN)/funnel paper -o paper-results --force $(ARGS)
	mkdir -p docs/paper
	cp paper-results/*.svg paper-results/tables.md paper-results/results.csv docs/paper/

$(VENV)/.docs: $(READY)
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict

# The pictures in docs/pictures, taken in Chromium.
pictures: $(READY)
	$(BIN)/python tools/pictures.py

clean:
	rm -rf $(VENV) site dist build bench-results paper-results .mypy_cache .pytest_cache .ruff_cache
