# Everything below sets itself up in .venv; all it needs is Python 3.11 or newer.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo docs test coverage test-parallel test-oldest test-wheel torture results lint format clean

demo: .venv/.installed-demo
	$(BIN)/python examples/plot_first_steps.py

# The site, into docs/_build/html. Warnings, and links that lead nowhere, are errors.
docs: .venv/.installed-docs
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -d docs/_build/doctrees docs docs/_build/html

test: .venv/.installed-test lint
	$(BIN)/python -m pytest -n 2

# What no test runs is listed, line by line. Worker processes are not counted.
coverage: .venv/.installed-test
	$(BIN)/python -m pytest -n 2 --cov --cov-report=term-missing:skip-covered

# The tests that compute in other processes, twenty times, two runs at a time: none may hang.
test-parallel: .venv/.installed-test
	seq 20 | OMP_NUM_THREADS=1 xargs -I {} -P 2 $(BIN)/python -m pytest -q -m parallel

# The tests on the oldest versions that pyproject.toml allows; the old torch brings gigabytes of CUDA.
test-oldest: .venv-oldest/.installed-test
	.venv-oldest/bin/python -m pytest -n 2

# The packages as they would be released: built, checked, installed into an environment of their own,
# and tested with what the source package has, without the checkout. TESTS=tests/docs tests less.
TESTS ?= tests docs
test-wheel:
	rm -rf .venv-wheel dist
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/python -m pip install --constraint constraints.txt build twine
	.venv-wheel/bin/python -m build
	.venv-wheel/bin/python -m twine check --strict dist/*
	.venv-wheel/bin/python -m pip install --constraint constraints.txt "$$(ls dist/*.whl)[test]"
	outside=$$(mktemp -d) && tar -xzf dist/*.tar.gz -C $$outside --strip-components 1 && \
	rm -r $$outside/sklofi && cd $$outside && \
	$(CURDIR)/.venv-wheel/bin/python -m pytest -n 2 $(TESTS); status=$$?; rm -r $$outside; exit $$status

# Tries to break every promise, for less than an hour.
torture: .venv/.installed-test
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile -o faulthandler_timeout=3600 tests/torture --reliability RELIABILITY.md

# What is in benchmarks/results/protocol.jsonl is not run again: remove it to begin afresh.
results: .venv/.installed-test
	$(BIN)/python -m benchmarks.protocol
	$(BIN)/python -m benchmarks.table

lint: .venv/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/.installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv .venv-oldest .venv-wheel dist docs/_build docs/api docs/auto_examples docs/project

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.installed-demo: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --constraint constraints.txt --editable ".[plot]"
	touch $@

.venv/.installed-test: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --constraint constraints.txt --editable ".[test]"
	touch $@

.venv/.installed-docs: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --constraint constraints.txt --editable ".[docs]"
	touch $@

.venv-oldest/bin/python:
	$(PYTHON) -m venv .venv-oldest

# Wheels only: what has none would be compiled.
.venv-oldest/.installed-test: .venv-oldest/bin/python pyproject.toml constraints-oldest.txt
	.venv-oldest/bin/python -m pip install --only-binary :all: --constraint constraints-oldest.txt --editable ".[test]"
	touch $@
