# Two commands do everything on a fresh machine: `make demo` and `make test`. All of them: `make help`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TRIED := $(VENV)/.tried
READY := $(VENV)/.ready

.PHONY: help demo test check golden mutations proofs durations search fuzz atheris coverage lint format bench results reading walk paper docs pictures dist minimal audit clean

.DEFAULT_GOAL := help
help:
	@echo 'make demo     the main job, end to end, on generated data'
	@echo 'make test     the tests: some minutes, the same draws every time'
	@echo 'make check    the tests that take long: mutations, fuzz, coverage of intervals, Spark clusters, …'
	@echo 'make mutations  every known way to break the code, and the test that notices it'
	@echo 'make proofs   the theorems that the promise rests on, checked by Coq (if it is there)'
	@echo 'make search   property tests with new random draws, for SECONDS=600'
	@echo 'make lint     ruff and mypy'
	@echo 'make bench    measurements'
	@echo 'More, and what they are for: CONTRIBUTING.md'

# What it takes to try it; Spark and the tools of developers, most of the download, come with $(READY).
$(TRIED): pyproject.toml
	@echo "Setting up $(VENV): some minutes, the first time."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[models,studio]'
	touch $(TRIED)

$(READY): $(TRIED)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	$(BIN)/python -m tools.compiling
	touch $(READY)

DEMO := build/demo
demo: $(TRIED)
	rm -rf $(DEMO)
	$(BIN)/funnel demo --folder $(DEMO)
	$(BIN)/funnel release $(DEMO)/people.csv --secret obese --epsilon 0.5 -o $(DEMO)/open

# Modules are compiled once, and not by each of the processes that tests start, whatever the environment says.
export PYTHONDONTWRITEBYTECODE :=

# Two processes; a process that is done takes over from the other.
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal

# Seconds for each test, and for all of them together (tests/limits.py). On a slow or busy machine: make test TIMEOUT=120
test: TIMEOUT := 30
test: export TEST_BUDGET ?= 2400
check mutations: TIMEOUT := 180
check: export TEST_BUDGET ?= 2400

# Hypothesis draws the same every time (tests/conftest.py), so a test that passed passes again.
test: $(READY)
	$(PYTEST) --timeout $(TIMEOUT) -m 'not long'

# The tests that are marked as long. `test` and `check` together are all of them, once.
check: $(READY)
	$(PYTEST) --timeout $(TIMEOUT) -m long

# All mutations, and a record of them; `make check` runs those that changed since, and a tenth of the others by turns.
mutations: $(READY)
	MUTATIONS=all $(PYTEST) --timeout $(TIMEOUT) tests/test_mutations.py
	$(BIN)/python -m tests.test_mutations

# The theorems of docs/proofs.md; where coqc is missing it says so, and fails if REQUIRED=1 or CI=true.
proofs:
	$(PYTHON) -m tools.proofs

# What every command says and writes today, into tests/golden/*.json, and what changed; ARGS="-k 'by hand'" for some.
golden: $(READY)
	GOLDEN=record $(BIN)/python -m pytest tests/golden $(ARGS)

# CPU seconds of each test in build/durations.csv, and the costliest here: make durations ARGS="-m long tests/cli"
durations: $(READY)
	$(BIN)/python -m pytest -p tools.durations $(ARGS)

# Property tests with new random draws; what fails is kept in build/search and should become a fixed case.
search: SECONDS := 600
search: $(READY)
	$(BIN)/python -m tools.searching $(SECONDS)

# 12,500 broken files, 2,500 of each kind: about a quarter of an hour. `make check` tries 300.
fuzz: $(READY) atheris
	FUZZ_CASES=2500 $(BIN)/python -m pytest -n 2 tests/test_fuzz.py

$(VENV)/.fuzz: $(READY)
	$(BIN)/python -m pip install --quiet --editable '.[fuzz]'
	touch $@

# Bytes that reach new branches are kept and changed further. What breaks a claim is put into build/fuzzing.
SECONDS := 120
atheris: $(VENV)/.fuzz
	$(BIN)/python -m tools.fuzzing protocol_bytes $(SECONDS)
	$(BIN)/python -m tools.fuzzing csv_bytes $(SECONDS)

# Lines that no test runs, also in the processes that tests start; fails below 95%. Without Java and Chromium, what is
# for Spark and the studio is not run and counts as missed.
coverage: $(READY)
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest -n 2 --dist worksteal
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run -m pytest $(UNCOMPILED)
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report --skip-covered --fail-under=95
	$(BIN)/python -m coverage report --include='*/certificate.py,*/randomness.py,*/kernel.py' --fail-under=100

# What numba compiles cannot be watched, so some tests go through it line by line, where numpy warns of what machine
# code does without a word.
UNCOMPILED := -W ignore::RuntimeWarning tests/drawing/test_kernel.py tests/drawing/test_randomness.py tests/optimiser/bounds/test_bounds.py tests/optimiser/test_large.py \
  tests/optimiser/robust/test_nested_search.py \
  -k 'reproduce or share_a_bucket or sides_of_a_cut or favour_a_row or permutation_holds or (no_column and 1--1) \
  or shrinking_a_box or proof_is_never or box_without or best_partners or staircase or complete_sweep or sweeping_is_as_good \
  or nested_sets or interval_and_a_cap or branching_on_the_largest or no_value_is_larger or best_pairs'

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
	-$(PYTHON) -m venv $(DPMM) && $(DPMM)/bin/python -m pip install --quiet 'dpmm>=0.1.9'
	touch $@

# dpmm asks for one old version each of OpenDP, pandas and others, so it has an environment of its own.
DPMM := $(VENV)/dpmm
bench: $(VENV)/.bench
	FUNNEL_DPMM=$(DPMM)/bin/python $(BIN)/python -m benchmarks $(ARGS)

# docs/results.md, from the records in benchmarks/results; a new one: python -m benchmarks NAME --json FILE
results: $(READY)
	$(BIN)/python -m tools.results

# Words, mean sentence and school grade of every page of the documentation.
reading: $(READY)
	$(BIN)/python -m tools.reading

# The whole way on four real tables, in the shell and in Chromium: what is slow, silent, large or said. Some hours.
walk: $(READY)
	$(BIN)/python -m tools.walk $(ARGS)

# The paper's experiments; the documentation shows what comes out. About ten minutes on two idle cores.
paper: $(READY)
	$(BIN)/funnel paper -o paper-results --force $(ARGS)
	mkdir -p docs/paper
	cp paper-results/*.svg paper-results/tables.md paper-results/results.csv docs/paper/

$(VENV)/.docs: $(READY)
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

docs: $(VENV)/.docs
	$(BIN)/python -m tools.documentation site

$(VENV)/.release: $(READY)
	$(BIN)/python -m pip install --quiet --editable '.[release]'
	touch $@

# An sdist, a wheel built from it, and a try of the wheel where there is nothing but what it asks for.
# The tests of an unpacked sdist are collected, and those about its own files run.
dist: $(VENV)/.release
	rm -rf dist build/empty build/unpacked && mkdir -p build/unpacked
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	tar -xzf dist/*.tar.gz -C build/unpacked --strip-components=1
	cd build/unpacked && PYTHONPATH=src $(CURDIR)/$(BIN)/python -m pytest --collect-only > /dev/null
	cd build/unpacked && PYTHONPATH=src $(CURDIR)/$(BIN)/python -m pytest tests/test_packaging.py tests/test_layers.py tests/test_public_surface.py
	$(PYTHON) -m venv build/empty
	build/empty/bin/python -m pip install --quiet dist/*.whl
	cd build/empty && bin/funnel --version && bin/funnel demo --json > demo.json
	$(BIN)/python -m json.tool build/empty/demo.json > /dev/null
	@echo "dist/ holds what was tried"

# The oldest dependencies that pyproject.toml allows: the quick parts of the suite run on them. That an old typer
# uses what a new click calls deprecated is between the two of them.
minimal:
	rm -rf build/lowest && $(PYTHON) -m venv build/lowest
	$(PYTHON) .ci/lowest.py > build/lowest/constraints.txt
	build/lowest/bin/python -m pip install --quiet --constraint build/lowest/constraints.txt . hypothesis pandas polars pytest pytest-timeout pytest-xdist
	build/lowest/bin/python -m pytest -W ignore::DeprecationWarning $(MINIMAL)

MINIMAL := tests/proof/test_certificate.py tests/promises/test_notions.py tests/optimiser/test_optimise.py tests/protocols/test_file.py \
  tests/drawing/test_randomness.py tests/distribution/test_column.py tests/tables/test_counting.py tests/cli/test_commands.py tests/cli/test_estimate.py

# Known weaknesses of the dependencies, as far as the advisory service can be reached.
audit: $(VENV)/.release
	@mkdir -p build
	@$(BIN)/pip-audit --skip-editable --format json 2> build/audit.log | $(BIN)/python .ci/audit.py

# The pictures in docs/pictures: drawings, and what Chromium shows.
pictures: $(READY)
	$(BIN)/python tools/sketches.py
	$(BIN)/python tools/pictures.py

clean:
	rm -rf $(VENV) site dist build bench-results paper-results .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache
