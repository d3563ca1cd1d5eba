# Every target except clean first creates .venv and installs what it needs, unless that was done before.
#
#   make demo      encode, index, search and score the built-in corpus
#   make test      all tests but the slow ones
#   make test-all  all tests, also those of the extras, which it installs
#   make test-faults  the suite of faults: kills, full disks, damage; FAULTS_SEED=N repeats a run
#   make check     lint, format, types and layers
#   make format    let ruff rewrite what it can
#   make jar       compile the Java sources into the jars that are committed (needs a JDK);
#                  ANSERINI="JAR JAR" are Anserini's jars of both versions of Pyserini
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
LOG := $(VENV)/install.log
# These lists are variables, because a comma in the text of $(call ...) would begin the next argument.
TEST_EXTRAS := test,dev
ALL_EXTRAS := ray,pisa,milvus,docs,polars,pyterrier,beir,langchain
# The output of pip goes to a file; the end of the file is printed if pip fails.
define pip_install
@echo "installing .[$(1)] into $(VENV); this can take minutes, the log is $(LOG)"
@$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e '.[$(1)]' \
    > $(LOG) 2>&1 || { tail -n 30 $(LOG); echo "pip failed; the complete log is $(LOG)"; exit 1; }
@touch $@
endef
# One process per core. The tests of a file run in the same process; see also tests/conftest.py.
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
