# Every target creates .venv and installs what it needs first, once.
#
#   make demo      encode, index, search and score the built-in corpus
#   make test      all tests but the slow ones
#   make test-all  all tests, also those of the extras, which it installs
#   make test-faults  the suite of faults: flipped bits, kills, races; FAULTS_SEED=N repeats a run
#   make check     lint, format, types and layers
#   make format    let ruff rewrite what it can
#   make jar       compile the Java sources into the jar that is committed (needs a JDK)
#   make docs      build the documentation in build/site/
#   make clean     remove .venv and all caches; results stay
#
# Another Python: `make test PYTHON=python3.12` uses .venv-3.12.

PYTHON ?= python3
VENV := .venv
ifneq ($(origin PYTHON),file)
VENV := .venv-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
endif
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
EXTRAS := $(VENV)/.extras
DOCS := $(VENV)/.docs
PIP := $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt
# One process per core. Tests that share fixtures run in one process, see tests/conftest.py.
PARALLEL := -n auto --dist loadfile

.PHONY: demo test test-all test-faults check format jar docs clean

demo: $(INSTALLED)
	$(BIN)/spade demo

test: $(INSTALLED)
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow"

test-all: $(EXTRAS)
	$(BIN)/python -m pytest $(PARALLEL)

test-faults: $(INSTALLED)
	$(BIN)/python -m pytest -s tests/faults

check: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: $(INSTALLED)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

jar: $(INSTALLED)
	$(BIN)/python -m spade_pyserini.lucene.jar.build

docs: $(DOCS)
	$(BIN)/mkdocs build --strict

$(INSTALLED): setup.cfg pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	    f"Python 3.11 or later is needed, $(PYTHON) is {sys.version.split()[0]}")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[test,dev]'
	touch $@

$(EXTRAS): $(INSTALLED)
	$(PIP) -e '.[ray,pisa,milvus,docs]'
	touch $@

$(DOCS): $(INSTALLED)
	$(PIP) -e '.[docs]'
	touch $@

clean:
	rm -rf .venv .venv-3.* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache \
	    build *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
