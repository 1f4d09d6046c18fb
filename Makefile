# Every target makes what it needs. With Python 3.11 or newer and make, `make demo` and `make test` install the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The tests of a file run together: they share a browser, server or Spark session. tests/conftest.py sets the order.
# Bytecode is kept, whatever the environment sets: otherwise each process would compile hundreds of files again.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder
# Everything that the targets need; constraints.txt has versions that are known to work together.
WHOLE := --editable ".[plot,server,spark]" --group test --group docs

.PHONY: demo test quick check bench docs docs-outputs figures page pictures pins system clean

demo: $(VENV)/.ready
	$(BIN)/sottovoce demo --out demo

test: check system
	$(PYTEST)

# An everyday check of every part of the program, without the slow tests: about two minutes on two idle cores.
quick: $(VENV)/.ready
	$(PYTEST) -m "not slow" --ignore tests/browser

# Only the tests of the pages, in a real browser.
page: $(VENV)/.ready system
	$(PYTEST) tests/browser

check: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.ready system
	$(BIN)/python -m bench

docs: $(VENV)/.ready
	$(BIN)/python -m sphinx -q -n -W --keep-going -b html docs docs/_build/html
	@echo "the site is in docs/_build/html/index.html"

docs-outputs: $(VENV)/.ready
	$(BIN)/python tests/pages.py

# The site's reproduction page is made from these committed files. Making them takes minutes and is rarely needed.
figures: $(VENV)/.ready
	mkdir -p docs/_build docs/images/reproduce
	$(BIN)/sottovoce reproduce --out docs/_build/reproduce --json > docs/_build/figures.json
	cp docs/_build/figures.json docs/_build/reproduce/*.svg docs/_build/reproduce/*.csv docs/images/reproduce

# The pictures of the pages in the docs, taken from the pages themselves.
pictures: $(VENV)/.ready system
	$(BIN)/python tests/browser/pictures.py

# The newest versions that a fresh environment installs; `make test` shows whether they work together. Best run with the
# oldest supported Python, such as Debian 12's 3.11.2: a later one may choose versions that the oldest cannot install.
pins: PINS := $(VENV)-pins
pins:
	rm -rf $(PINS)
	$(PYTHON) -m venv $(PINS)
	$(PINS)/bin/python -m pip install --quiet --upgrade pip
	$(PINS)/bin/python -m pip install --quiet $(WHOLE)
	{ echo "# Versions that are known to work together; 'make pins' renews them."; \
	  $(PINS)/bin/python -m pip freeze --all --exclude-editable --exclude setuptools; } > $(PINS)/constraints.txt
	mv $(PINS)/constraints.txt constraints.txt
	rm -rf $(PINS)

# Pages are tested in the system's Chromium and their modules under Node; the Spark engine needs Java 17 or newer.
system:
	@missing=; \
	command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
	  || missing="$$missing chromium"; \
	command -v node >/dev/null || missing="$$missing nodejs"; \
	{ [ -n "$$JAVA_HOME" ] || command -v java >/dev/null; } || missing="$$missing default-jre-headless"; \
	if [ -z "$$missing" ]; then :; \
	elif command -v apt-get >/dev/null && { [ "$$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }; then \
	  echo "installing$$missing"; root=$$([ "$$(id -u)" = 0 ] || echo sudo); \
	  $$root apt-get update -qq && $$root apt-get install -y -qq$$(printf ' %s' $$missing) >/dev/null; \
	else \
	  echo "The tests need these system packages, and make has no permission to install them:$$missing"; exit 2; \
	fi

clean:
	rm -rf $(VENV) $(VENV)-pins .venv-peers build dist demo docs/_build bench/out .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "$$($(PYTHON) --version): Sottovoce needs Python 3.11 or newer; name one with 'make PYTHON=python3.12 ...'"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --build-constraint constraints.txt $(WHOLE)
	@touch $@
