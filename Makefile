# Needs only Python >= 3.11, pip and make. Every target makes its environment when that is missing or out of date.
PYTHON ?= python3
ARGS ?=
PIP_FLAGS := -qq --disable-pip-version-check
# The package itself: its dependencies are the lock's, and hatchling comes from the lock too.
SELF := --no-deps --no-build-isolation -e .

.DEFAULT_GOAL := env
.PHONY: env demo test lint bench clean moved

env: .venv/.stamp
	@:

demo: .venv/.stamp
	@.venv/bin/python examples/demo.py $(ARGS)

test: .venv/.stamp
	@.venv/bin/python -m pytest -q -rs $(ARGS)

lint: .venv/.stamp
	@echo "ruff check"
	@.venv/bin/python -m ruff check -q .
	@echo "ruff format --check"
	@.venv/bin/python -m ruff format -q --check .
	@echo "mypy src"
	@.venv/bin/python -m mypy src

bench: .venv-bench/.stamp
	@.venv-bench/bin/python benchmarks/run.py $(ARGS)

# Build products and caches; the environments stay (remove .venv and .venv-bench by hand).
clean:
	@echo "removing build products and caches"
	@rm -rf build dist demo-output experiments-output .pytest_cache .ruff_cache .mypy_cache
	@find . -path "./.venv*" -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp holds the folder it was made in: an environment copied along with its tree would import the old tree.
ifneq ($(shell cat .venv/.stamp 2>/dev/null),$(CURDIR))
.venv/.stamp: moved
endif
ifneq ($(shell cat .venv-bench/.stamp 2>/dev/null),$(CURDIR))
.venv-bench/.stamp: moved
endif
moved:

.venv/.stamp: requirements.lock pyproject.toml
	@$(call make-venv,.venv)
	@echo "installing requirements.lock into .venv (the first time takes about a minute)"
	@.venv/bin/python -m pip install $(PIP_FLAGS) -r requirements.lock
	@echo "installing austerity itself, editable"
	@.venv/bin/python -m pip install $(PIP_FLAGS) $(SELF)
	@echo "$(CURDIR)" > $@

.venv-bench/.stamp: requirements.lock requirements-bench.lock pyproject.toml
	@$(call make-venv,.venv-bench)
	@echo "installing requirements.lock and requirements-bench.lock into .venv-bench"
	@.venv-bench/bin/python -m pip install $(PIP_FLAGS) -r requirements.lock -r requirements-bench.lock
	@echo "installing austerity itself, editable"
	@.venv-bench/bin/python -m pip install $(PIP_FLAGS) $(SELF)
	@echo "$(CURDIR)" > $@

# An environment whose pip is missing is one that was cut short: it is made again.
define make-venv
if ! $(1)/bin/python -m pip --version >/dev/null 2>&1; then \
  command -v "$(PYTHON)" >/dev/null || { echo "no $(PYTHON) on this machine: give another, make PYTHON=/path/to/python3.11"; exit 1; }; \
  "$(PYTHON)" -c "import sys; sys.exit(sys.version_info < (3, 11))" || { \
    echo "$$("$(PYTHON)" --version) is too old: austerity needs Python 3.11 or newer, make PYTHON=python3.11"; exit 1; }; \
  "$(PYTHON)" -c "import venv, ensurepip" 2>/dev/null || { \
    echo "$(PYTHON) cannot make environments (venv or ensurepip is missing): install your system's python3-venv package"; exit 1; }; \
  echo "making $(1) with $$("$(PYTHON)" --version)"; \
  "$(PYTHON)" -m venv --clear $(1); \
fi
endef
