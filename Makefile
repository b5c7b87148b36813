# Every target sets up what it needs. `make` alone lists the targets.
# A Python is tried before it is used: a version manager may list one that does not start.
SUITABLE := import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for python in python3.13 python3.12 python3.11 python3; do \
  if $$python -c '$(SUITABLE)' >/dev/null 2>&1; then echo $$python; break; fi; done)
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.ready-core
READY := $(VENV)/.ready
AS_ROOT := $(shell [ "$$(id -u)" = 0 ] || echo sudo -n)

# Tools that lock and audit the environment have a separate one.
AUDIT := .venv-audit
AUDIT_READY := $(AUDIT)/.ready
UV := $(AUDIT)/bin/uv pip compile --generate-hashes --universal --python-version 3.11 \
  --no-emit-index-url --no-annotate --no-header --quiet

.PHONY: help setup demo browser postgres test test-all mutants audit-dependencies wheel bench docs \
  docs-serve transcripts reproduction lint format lock clean

help:
	@echo "make setup     virtual environment with all locked dependencies, for development"
	@echo "make demo      make up a log, attack it, release it, attack it again; installs the core only"
	@echo "make browser   Chromium for the tests of the reports, where it is missing"
	@echo "make postgres  PostgreSQL for the tests of databases, where it is missing"
	@echo "make test      the test suite"
	@echo "make test-all  everything: long statistics, fuzzing, faults, mutants; writes the table of trust"
	@echo "make mutants   mutation tests of the code that decides a guarantee"
	@echo "make audit-dependencies  an SBOM of the locked packages, and their known vulnerabilities"
	@echo "make wheel     the wheel and the source archive, in dist/"
	@echo "make bench     timings and quality, beside the peers"
	@echo "make docs      refresh the generated reference pages and build the site into site/"
	@echo "make docs-serve  the site with its search, on http://127.0.0.1:8000"
	@echo "make transcripts  run the tutorials and write what their commands print"
	@echo "make reproduction  the paper's section 6 as docs/reproduction; twenty minutes"
	@echo "make lint      ruff, import-linter, pyright (strict on src/) and the list of words to avoid"
	@echo "make format    let ruff rewrite the code"
	@echo "make lock      resolve the dependencies again into the requirements*.lock files"
	@echo "make clean     remove everything that the targets made"

setup: $(READY)

$(BIN)/python:
	@[ -n "$(PYTHON)" ] || { echo "make: slogan needs Python 3.11 or later with venv, and none of" \
	  "python3.13, python3.12, python3.11 and python3 is one; name yours: make PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# Python compiles modules on import; compiling every file of every package takes longer.
$(CORE): requirements-core.lock pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --no-compile --require-hashes -r requirements-core.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $(CORE)

# Python may bring an old setuptools that nothing here needs.
$(READY): requirements.lock $(CORE)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip uninstall -qq --yes setuptools
	$(BIN)/python -c "from slogan.planning.solvers import packing; packing.warm_up()"
	$(BIN)/python -c "from slogan.planning.exposure import least; least.warm_up()"
	$(BIN)/python -c "from slogan.dp.selection import pooled; pooled.warm_up()"
	@touch $(READY)

demo: $(CORE)
	$(BIN)/slogan demo

# Nothing is downloaded if a browser is installed; tests/browser fails if none can be installed.
browser:
	@command -v chromium || command -v chromium-browser || command -v google-chrome \
	  || { echo "no Chromium here: installing it for the tests of the reports"; \
	    $(AS_ROOT) apt-get update --quiet && $(AS_ROOT) apt-get install --yes --quiet \
	      --no-install-recommends chromium; } \
	  || echo "make: Chromium CANNOT BE INSTALLED HERE, so tests/browser will fail;" \
	    "install it yourself (apt-get install --no-install-recommends chromium) and try again" >&2

# Spark's tests run in one process, so that they share one session. Three processes on two cores:
# tests often wait for a program they started.
PYTEST := $(BIN)/python -m pytest -n 3 --dist loadgroup

test: $(READY) browser postgres
	@if .ci/java; then $(PYTEST) -m "not long"; else $(PYTEST) -m "not long and not spark"; fi

test-all: $(READY) $(AUDIT_READY) browser postgres
	@$(BIN)/python -m tools.ladder

# Outcomes are stored in .mutants, so that an interrupted run continues.
mutants: $(READY)
	$(BIN)/python -m tools.mutation --jobs 2 --write

$(AUDIT_READY): requirements-audit.lock | $(BIN)/python
	$(BIN)/python -m venv $(AUDIT)
	$(AUDIT)/bin/python -m pip install --quiet --require-hashes -r requirements-audit.lock
	$(AUDIT)/bin/python -m pip uninstall -qq --yes setuptools
	@touch $(AUDIT_READY)

audit-dependencies: $(READY) $(AUDIT_READY)
	$(BIN)/python -m tools.dependencies --strict

wheel: $(READY)
	$(BIN)/python -m hatchling build -t sdist,wheel -d dist

bench: $(READY)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements-bench.lock
	$(BIN)/python -m bench

docs: $(READY)
	$(BIN)/python tools/reference.py
	$(BIN)/python -m tools.manpage
	$(BIN)/python -m tools.python_reference
	$(BIN)/mkdocs build --strict
	@echo "site/index.html is ready; its search needs a server: make docs-serve"

docs-serve: docs
	$(BIN)/python -m http.server 8000 --bind 127.0.0.1 --directory site

transcripts: $(READY)
	$(BIN)/python -m tools.transcripts

reproduction: $(READY)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements-bench.lock
	$(BIN)/slogan reproduce -o docs/reproduction

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/basedpyright
	$(BIN)/python -m tools.words

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: $(AUDIT_READY)
	$(UV) pyproject.toml --group build --extra dev --output-file requirements.lock
	$(UV) pyproject.toml --group build --constraint requirements.lock --output-file requirements-core.lock
	$(UV) pyproject.toml --group build --extra dev --extra bench --output-file requirements-bench.lock
	$(UV) requirements-audit.in --output-file requirements-audit.lock

clean:
	rm -rf $(VENV) $(AUDIT) .mutants demo dist site .pytest_cache .hypothesis .ruff_cache
