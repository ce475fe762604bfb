# Every target is the only command a fresh machine with Python 3.11+ needs: it makes .venv, installs
# what it lacks (again only when pyproject.toml changed), and runs.
VENV ?= .venv
BIN := $(VENV)/bin
CANDIDATES ?= python3 python3.13 python3.12 python3.11 python
LOWEST := .venv-lowest
EXTRAS := .venv-extras
DOCS := .venv-docs
WHEEL := .venv-wheel
# Python keeps its bytecode: without it each command that a test starts imports for seconds longer.
export PYTHONDONTWRITEBYTECODE :=
NEEDS := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))

.PHONY: help demo test test-all test-portable test-lowest test-extras test-wheel planted lint format bench reproduce docs clean
help:
	@echo "make demo      fit pairwise beside pointwise models, and 1e12 pairs"
	@echo "make test      the tests, minutes; the same examples each time"
	@echo "make test-all  the slow tests too, on fresh examples (SEED=n repeats them)"
	@echo "make test-portable"
	@echo "               the tests as other processors run them, and with bounds checks"
	@echo "make test-lowest"
	@echo "               the tests with the lowest versions that pyproject.toml declares"
	@echo "make test-extras"
	@echo "               the tests that need torch, LightGBM, XGBoost, onnx or Dask"
	@echo "make test-wheel"
	@echo "               build the sdist, and the wheel from it; try the wheel in a fresh environment"
	@echo "make planted   plant faults one by one and see whether tests find them, as with"
	@echo "               ARGS='--room metrics --count 20 tests/public/metrics', ARGS=--help"
	@echo "make lint      ruff, mypy and numpydoc over the code"
	@echo "make format    let ruff rewrite what it can"
	@echo "make bench     list the benchmarks"
	@echo "make reproduce"
	@echo "               the papers' tables and figures: computes what is missing, within an hour, and"
	@echo "               writes REPRODUCTION.md; ARGS=--again, ARGS='--paper raykar2007 --table 3 --show',"
	@echo "               ARGS=--full, ARGS=--help"
	@echo "make docs      write the documentation site to docs/_build/html"
	@echo "make clean     remove .venv and every cache"

demo: $(VENV)/installed-core
	@$(BIN)/pairrank demo

test: $(VENV)/installed-dev
	@$(BIN)/python -m pytest -n auto $(ARGS)

test-all: $(VENV)/installed-dev
	@seed=$${SEED:-$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}; \
	echo "make: fresh examples; make test-all SEED=$$seed repeats them"; \
	$(BIN)/python -m pytest -n auto -m "slow or not slow" --hypothesis-profile=fresh \
	    --hypothesis-seed=$$seed $(ARGS)

# SETTINGS goes to tests/portable.py (see its --help), ARGS to pytest.
test-portable: $(VENV)/installed-dev
	@$(BIN)/python tests/portable.py $(if $(SEED),--seed $(SEED)) $(SETTINGS) -- -n auto $(ARGS)

test-lowest: $(LOWEST)/installed
	@NUMBA_CACHE_DIR=$(CURDIR)/$(LOWEST)/numba_cache $(LOWEST)/bin/python -m pytest -n auto $(ARGS)

test-extras: $(EXTRAS)/installed
	@$(EXTRAS)/bin/python -m pytest -n auto -m "extras and not slow" $(ARGS)

test-wheel: $(VENV)/installed-dev
	@rm -rf dist $(WHEEL)
	@$(BIN)/python -m build --outdir dist
	@$(BIN)/python -m venv $(WHEEL)
	@$(WHEEL)/bin/python -m pip install --quiet --no-compile --disable-pip-version-check dist/*.whl
	@$(WHEEL)/bin/python -I tests/try_wheel.py

planted: $(VENV)/installed-dev
	@$(BIN)/python tests/planted.py $(ARGS)

lint: $(VENV)/installed-dev
	@status=0; \
	$(BIN)/ruff check . || status=1; \
	$(BIN)/ruff format --check . || status=1; \
	$(BIN)/mypy || status=1; \
	$(BIN)/numpydoc lint $$(find src -name '*.py') || status=1; \
	exit $$status

format: $(VENV)/installed-dev
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(VENV)/installed-dev
	@echo "Run one with $(BIN)/python FILE (--help lists its options):"
	@for f in $(filter-out benchmarks/_%,$(wildcard benchmarks/*.py)); do \
	    printf '  %-32s %s\n' "$$f" "$$(head -n 1 $$f | tr -d '"')"; done

# PAIRRANK_DATA names the folder of the real data sets; without it, ../shared/data if it is there.
reproduce: $(VENV)/installed-reproduction
	@$(BIN)/python -m reproduction $(ARGS)

# Warnings are errors; check_site.py looks for broken links and for pages that ask other hosts.
docs: $(DOCS)/installed
	@$(DOCS)/bin/python -m sphinx --quiet --fail-on-warning --keep-going -b html $(ARGS) docs docs/_build/html
	@$(DOCS)/bin/python docs/check_site.py docs/_build/html

clean:
	rm -rf docs/_build docs/_pictures docs/gallery docs/reference/generated
	rm -rf $(VENV) $(LOWEST) $(EXTRAS) $(DOCS) $(WHEEL) .numba_cache .pytest_cache .mypy_cache .ruff_cache .hypothesis .planted build dist
	find src tests reproduction -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@for p in $(CANDIDATES); do \
	    if $$p -c '$(NEEDS)' 2>/dev/null; then \
	        echo "make: creating $(VENV) with $$($$p --version)"; exec $$p -m venv $(VENV); fi; done; \
	echo "make: no Python >= 3.11 with venv among: $(CANDIDATES)." >&2; \
	echo "make: install one, or name yours: make CANDIDATES=/path/to/python3.12" >&2; exit 1

$(VENV)/installed-core: pyproject.toml | $(BIN)/python
	@echo "make: installing pairrank into $(VENV)"
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -e .
	@touch $@

$(VENV)/installed-reproduction: pyproject.toml | $(BIN)/python
	@echo "make: installing pairrank, matplotlib and scikit-survival into $(VENV)"
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -e '.[reproduction]'
	@touch $@ $(VENV)/installed-core

$(VENV)/installed-dev: pyproject.toml | $(BIN)/python
	@echo "make: installing pairrank and its development tools into $(VENV)"
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/installed-core

$(LOWEST)/installed: pyproject.toml tests/lowest.py | $(BIN)/python
	@echo "make: installing the lowest declared versions into $(LOWEST)"
	@$(BIN)/python -m venv --clear $(LOWEST)
	@$(BIN)/python tests/lowest.py > $(LOWEST)/constraints.txt
	@$(LOWEST)/bin/python -m pip install --quiet --no-compile --disable-pip-version-check \
	    -c $(LOWEST)/constraints.txt -e '.[test]'
	@touch $@

$(EXTRAS)/installed: pyproject.toml tests/extras.txt | $(BIN)/python
	@echo "make: installing pairrank and the large optional libraries into $(EXTRAS)"
	@$(BIN)/python -m venv --clear $(EXTRAS)
	@$(EXTRAS)/bin/python -m pip install --quiet --no-compile --disable-pip-version-check -r tests/extras.txt
	@$(EXTRAS)/bin/python -m pip install --quiet --no-compile --disable-pip-version-check \
	    -c tests/extras.txt -e '.[test,onnx,torch,lightgbm,dask]'
	@touch $@

$(DOCS)/installed: pyproject.toml | $(BIN)/python
	@echo "make: installing pairrank and Sphinx into $(DOCS)"
	@$(BIN)/python -m venv --clear $(DOCS)
	@$(DOCS)/bin/python -m pip install --quiet --no-compile --disable-pip-version-check -e '.[docs]'
	@touch $@
