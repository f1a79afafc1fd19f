# Everything a developer does, each thing one command. `make help` lists them.
# Needs git, make, Python 3.11+ and Node 20+ with npm (the dashboard, the type checker). Everything else goes into
# .venv and web/node_modules.

VENV := .venv
BIN := $(VENV)/bin
SKELO := $(BIN)/skelo
SOURCES := $(wildcard src tests benchmarks scripts examples)

# What `make demo` and `make tour` run; what `make bench` and the test runner are told beside their defaults.
DEMO ?= examples/content-pipeline/content-pipeline.yaml
TOPIC ?= bees in the city
TOUR ?= examples/quickstart/digest.yaml
ARGS ?=
JOBS ?= auto
SEED ?=

# The bundled type checker, without a look on the network for a newer one.
export PYRIGHT_PYTHON_IGNORE_WARNINGS = 1
# The tests start many interpreters. Without compiled files each of them compiles the whole package.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup web demo demo-runs tour test test-agents chaos check bench bench-peers images lock reference dist sbom clean static web-static web-tests format-check lint types contracts sizes kernel-tests collected tests fast-tests format

help:  ## this list
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -e 's/:.*## /	/' | expand -t 16

setup: $(VENV)/.installed $(VENV)/.model web  ## put everything into .venv, build the dashboard (only what has changed)

web:
	@sh scripts/web.sh

demo: setup  ## set up, then have an article written by the embedded model, and verify the record
	@sh scripts/demo.sh $(BIN) $(dir $(DEMO)) $(notdir $(DEMO)) "$(TOPIC)"

demo-runs: setup  ## run the demo twenty times and check each article and its time (ARGS="--runs 5" for fewer)
	$(BIN)/python scripts/demo_runs.py $(ARGS)

tour: setup  ## run a workflow, kill it, resume it, approve it and verify its record
	@sh scripts/tour.sh $(BIN) $(dir $(TOUR)) $(notdir $(TOUR))

test: setup  ## set up, then check everything: format, lint, types, import contracts, sizes, documents, tests
	@sh scripts/compiler.sh || true  # the tests that need it say what is missing
	@sh scripts/bubblewrap.sh || echo "The tests of agents fail without it." >&2
	@sh scripts/chromium.sh || echo "All other checks run first; then this command fails." >&2
	$(MAKE) -k -j2 static web-tests kernel-tests collected
	$(MAKE) tests $$(sh scripts/chromium.sh 2>/dev/null >&2 || echo SKELO_NO_BROWSER=1)
	@sh scripts/chromium.sh || { echo "Everything else passed." >&2; exit 1; }

check: setup  ## the fast part of `make test`: all static checks, and the tests that are not marked slow
	$(MAKE) -k -j2 static web-tests
	$(MAKE) fast-tests

test-agents: setup  ## install claude, codex, gemini, opencode and qwen for a while, and drive each with a scripted model
	@sh scripts/bubblewrap.sh
	@sh scripts/test-agents.sh $(BIN) $(ARGS)

chaos: setup  ## kill a server and its agents fifty times at random moments (prints SEED=n; with it the same moments)
	SKELO_KILLS=50 SKELO_SEED=$(SEED) $(BIN)/pytest -s tests/agents/test_kills.py $(ARGS)

bench: setup  ## measure; ARGS="--json" and the like are passed on
	@sh scripts/chromium.sh || true  # without it the figures of the dashboard fail, after everything else
	$(BIN)/python -m benchmarks $(ARGS)

bench-peers: setup .venv-peers/.installed  ## install LangGraph, Burr and DBOS into .venv-peers, and measure beside them
	$(BIN)/python -m benchmarks --only peers $(ARGS)

images: setup  ## take the pictures of the dashboard in docs/images anew
	SKELO_IMAGES=1 $(BIN)/pytest tests/web -p no:randomly $(ARGS)

lock: setup  ## write all lock files of Python packages anew (UPGRADE=1 takes newer versions)
	$(BIN)/python scripts/lock.py $(if $(UPGRADE),--upgrade)

reference: setup  ## write docs/reference and the schemas for editors anew, from the files of handlers, gates, ops …
	$(BIN)/python -m scripts.reference

format: setup  ## rewrite the code in the house's format
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/ruff check --fix $(SOURCES)
	npm run --prefix web --silent format -- --log-level warn

dist: setup  ## build the source archive and the wheel of a release, and its list of packages (SBOM), into dist/
	$(BIN)/python -m uv build --quiet --no-build-isolation --python $(BIN)/python
	$(MAKE) sbom

sbom: setup  ## write the list of all packages of a release as CycloneDX JSON (an SBOM) into dist/
	$(BIN)/python scripts/release.py dist/openskelo.cdx.json

clean:  ## remove everything that can be made again, .venv included
	rm -rf web/node_modules src/openskelo/server/web
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# -- the parts of `test`, each of which can be run alone (after `make setup`) ------------------------------------------

static: format-check lint types contracts sizes web-static

format-check:
	$(BIN)/ruff format --check $(SOURCES)

lint:
	$(BIN)/ruff check $(SOURCES)

types:
	@command -v node >/dev/null || { echo "The type checker (pyright) needs Node 20 or newer: install nodejs." >&2; exit 1; }
	$(BIN)/pyright --warnings

contracts:
	$(BIN)/lint-imports --no-cache

sizes:
	$(BIN)/python scripts/sizes.py

web-static:
	npm run --prefix web --silent format-check -- --log-level warn
	npm run --prefix web --silent types
	npm run --prefix web --silent lint

web-tests:
	npm run --prefix web --silent test

kernel-tests:
	$(BIN)/coverage run -m pytest tests/kernel $(ARGS)
	$(BIN)/coverage report

collected:  # compiles the tests once; otherwise each of their parallel workers does so
	$(BIN)/python -m pytest --collect-only >/dev/null

tests:
	SKELO_NO_BROWSER=$(SKELO_NO_BROWSER) $(BIN)/python scripts/run_tests.py --ignore=tests/kernel -n $(JOBS) --dist worksteal --durations=60 $(ARGS)

fast-tests:
	$(BIN)/pytest -n $(JOBS) --dist worksteal -m "not slow" $(ARGS)

# -- the virtual environment: stamps for the locked packages, for the package itself, and for the embedded model -----

$(VENV)/.locked: requirements/dev.lock
	@sh scripts/venv.sh $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	@touch $@

$(VENV)/.installed: $(VENV)/.locked pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index --editable .
	@touch $@

.venv-peers/.installed: benchmarks/peers/requirements.lock
	@sh scripts/venv.sh .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

$(VENV)/.model: src/openskelo/providers/model.lock $(VENV)/.installed
	$(SKELO) model install
	@touch $@
