# Everything here makes .venv and installs what is needed first, once.
#
#   make demo      encode, index, search and score the built-in corpus
#   make test      all but the slow tests
#   make test-all  the slow ones too, and those of the extras, which it installs
#   make check     lint, format and types
#   make clean     remove .venv and all caches; results stay

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
EXTRAS := $(VENV)/.extras
PIP := $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt
# A process for each core; the tests of a file share what they have made.
PARALLEL := -n auto --dist loadfile

.PHONY: demo test test-all check format clean

demo: $(INSTALLED)
	$(BIN)/python -m spade_pyserini.demo

test: $(INSTALLED)
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow"

test-all: $(EXTRAS)
	$(BIN)/python -m pytest $(PARALLEL)

check: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(INSTALLED)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

$(INSTALLED): setup.cfg pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	    f"Python 3.11 or later is needed, $(PYTHON) is {sys.version.split()[0]}")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[test,dev]'
	touch $@

$(EXTRAS): $(INSTALLED)
	$(PIP) -e '.[ray,pisa,milvus]'
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
