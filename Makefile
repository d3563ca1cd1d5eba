# Every target except clean first creates .venv and installs what it needs, unless that was done before.
#
#   make demo      encode, index, search and score the built-in corpus
#   make test      run all tests except the slow ones
#   make test-all  run all tests; first install the extras (optional dependencies) that some need
#   make test-faults  run the fault-injection tests: killed processes, full disks, damaged files;
#                  FAULTS_SEED=N repeats an earlier run, FAULTS_MINUTES=N sets about how
#                  long it takes (default: 30; 0 tries all faults, which takes hours)
#   make check     check lint rules, format, types and import layers
#   make format    let ruff fix and format the code
#   make jar       compile the Java sources into the jars that are committed (needs a JDK);
#                  set ANSERINI="JAR JAR" to the Anserini jars of the two supported Pyserini versions
#   make docs      build the documentation in build/site/
#   make clean     remove .venv, build/ and all caches; keep encode/, index/ and runs/
#
# To use another Python: `make test PYTHON=python3.12`. Its virtual environment is .venv-3.12.

PYTHON ?= python3
VENV := .venv
ifneq ($(origin PYTHON),file)
VENV := .venv-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
endif
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
EXTRAS := $(VENV)/.extras
DOCS := $(VENV)/.docs
LOG := $(VENV)/install.log
# These lists are variables, because a comma in the text of $(call ...) would begin the next argument.
TEST_EXTRAS := test,dev
ALL_EXTRAS := ray,pisa,milvus,qdrant,seismic,bmp,docs,polars,pyterrier,beir,mteb,langchain,llama-index,haystack,anserini
# The output of pip goes to a file; the end of the file is printed if pip fails.
define pip_install
@echo "installing .[$(1)] into $(VENV); this can take minutes, the log is $(LOG)"
@$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e '.[$(1)]' \
    > $(LOG) 2>&1 || { tail -n 30 $(LOG); echo "pip failed; the complete log is $(LOG)"; exit 1; }
@touch $@
endef
# One process per core. All tests of a file run in the same process; see also tests/conftest.py.
PARALLEL := -n auto --dist loadfile
# `make test` always tries the same few faults; the other targets choose them at random.
test: FAULTS_SEED ?= 24
# The fault-injection tests take about this many minutes; 0 tries all faults, which takes hours.
FAULTS_MINUTES ?= 30

.PHONY: demo test test-all test-faults check format jar docs clean

demo: $(INSTALLED)
	$(BIN)/spade demo

test: $(INSTALLED)
	FAULTS_SEED=$(FAULTS_SEED) $(BIN)/python -m pytest $(PARALLEL) -m "not slow"

test-all: $(EXTRAS)
	FAULTS_MINUTES=5 $(BIN)/python -m pytest $(PARALLEL)

test-faults: $(INSTALLED)
	FAULTS_MINUTES=$(FAULTS_MINUTES) $(BIN)/python -m pytest -n 2 tests/faults

check: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: $(INSTALLED)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

jar: $(INSTALLED)
	$(BIN)/python -m spade_pyserini.lucene.jar.build $(ANSERINI)

docs: $(DOCS)
	$(BIN)/mkdocs build --strict

$(INSTALLED): setup.cfg pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	    f"Python 3.11 or later is needed, $(PYTHON) is {sys.version.split()[0]}")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(call pip_install,$(TEST_EXTRAS))

$(EXTRAS): $(INSTALLED)
	$(call pip_install,$(ALL_EXTRAS))

$(DOCS): $(INSTALLED)
	$(call pip_install,docs)

clean:
	rm -rf .venv .venv-3.* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache \
	    build *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
