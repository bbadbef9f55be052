# Two commands matter: `make lab` and `make test`. `make help` lists the rest.

PYTHON   ?= python3
PIP_ARGS ?=
LAB_ARGS ?=
TESTS    ?=
NOTEBOOKS_ARGS ?=
HUB_ARGS ?=
BENCH_ARGS ?=
WORKERS  ?= 2

# torch numbers depend on the thread count, and two workers share the cores.
export OMP_NUM_THREADS ?= 1
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# Every worker and every lesson's kernel would compile the same files again.
unexport PYTHONDONTWRITEBYTECODE

VENV    := .venv
PY      := $(VENV)/bin/python
STAMP   := $(VENV)/.installed
TSTAMP  := $(VENV)/.installed-test
LESSON  := $(firstword $(sort $(wildcard notebooks/[0-9]*.ipynb)))
ROOT    := $(if $(filter 0,$(shell id -u 2>/dev/null)),--allow-root)

.DEFAULT_GOAL := help
.PHONY: help lab test lint unit run notebooks soak browser bench site slides hub clean

help:  ## this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	  "pinlab needs Python 3.11 or newer: name one with make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

# The test extra contains everything the lab needs, so it sets both stamps.
$(TSTAMP): pyproject.toml | $(PY)
	$(PY) -m pip install $(PIP_ARGS) -e '.[test]'
	@touch $(STAMP) $(TSTAMP)

$(STAMP): pyproject.toml | $(PY)
	$(PY) -m pip install $(PIP_ARGS) -e .
	@touch $(STAMP)

lab: $(STAMP)  ## open the lessons in JupyterLab (LAB_ARGS="--no-browser --port=8890")
	$(PY) -m jupyterlab $(ROOT) $(LAB_ARGS) $(LESSON)

test: $(TSTAMP)  ## lint, types, unit tests, doctests, every lesson against its outputs
	$(MAKE) --no-print-directory lint
	$(PY) -m pytest -n $(WORKERS) --dist loadfile $(TESTS)

lint: $(TSTAMP)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

run: $(TSTAMP)  ## run every lesson without a browser; a page of each under build/
	$(PY) tools/run_lessons.py

notebooks: $(TSTAMP)  ## run every lesson again and write it back (NOTEBOOKS_ARGS="--measure")
	$(PY) -m ruff format --quiet notebooks
	$(PY) tools/notebooks.py --run $(NOTEBOOKS_ARGS)

soak: $(TSTAMP)  ## the long repetitions
	$(PY) -m pytest -m soak --timeout 1800 $(TESTS)

browser: $(TSTAMP)  ## the game and every lesson in a real JupyterLab; needs Chromium
	$(PY) -m pip install --quiet $(PIP_ARGS) -e '.[browser]'
	$(PY) -m pytest -m browser --timeout 300 $(TESTS)

bench: $(TSTAMP)  ## every measurement in one table, against the committed (BENCH_ARGS="--only launch")
	$(PY) -m benchmarks $(BENCH_ARGS)

site: $(TSTAMP)  ## the static site, under build/site
	$(PY) -m pip install --quiet $(PIP_ARGS) -e '.[site]'
	$(PY) tools/build_site.py

slides: $(TSTAMP)  ## a deck of slides from each lesson, under build/slides
	$(PY) tools/build_slides.py

hub: $(TSTAMP)  ## start a JupyterHub, let ten learners work at once, report; needs Node.js
	$(PY) -m pip install --quiet $(PIP_ARGS) -e '.[hub]'
	npm install --silent --no-fund --no-audit --prefix build/hub configurable-http-proxy@5.3.0
	$(PY) workshop/hub/drive_class.py $(HUB_ARGS)

clean:  ## remove what the commands made, the environment included
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
