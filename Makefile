# Every target makes what it needs: on a machine with Python 3.11 or newer and make, `make demo` and `make test` do it all.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test quick check bench clean

demo: $(VENV)/.ready
	$(BIN)/sottovoce demo --out demo

test: check
	$(BIN)/pytest -n auto

quick: $(VENV)/.ready
	$(BIN)/pytest -n auto -m "not slow"

check: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.ready
	$(BIN)/python -m bench

clean:
	rm -rf $(VENV) .venv-peers build dist demo bench/out .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "$$($(PYTHON) --version): Sottovoce needs Python 3.11 or newer; name one with 'make PYTHON=python3.12 ...'"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[plot,accounting,server]" --group test --group docs
	@touch $@
