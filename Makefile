# Two commands are all the set-up there is: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
# Two workers on two cores: each keeps BLAS to one thread; one that has nothing left takes half of the other's tests.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest
BOTH := -n 2 --dist worksteal
ROOT := $(if $(filter 0,$(shell id -u)),,sudo)
NATIVE := $(wildcard src/bochner/ops/native/*.[ch]pp)

.PHONY: help demo test lint test-papers test-slow test-reference test-torch test-cuda fuzz browser docs defaults performance contest sanitize trapped clean

help:            ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 18

$(INSTALLED): pyproject.toml papers/pyproject.toml CMakeLists.txt $(NATIVE)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]" --editable papers
	touch $@

demo: $(INSTALLED)   ## install, then the main job on the bundled handwritten digits
	$(BIN)/bochner demo

lint: $(INSTALLED)   ## style, types (and how many say Any), who may import whom, docstrings of public names
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	PYTHONPATH=tests $(BIN)/python -m helpers.docstrings
	PYTHONPATH=tests $(BIN)/python -m helpers.annotations

test: lint   ## everything a change must pass
	$(PYTEST) $(BOTH) -m "not slow and not torch"
	BOCHNER_BACKEND=reference $(PYTEST) -q $(BOTH) -m "not slow and not torch" tests/ops/test_ops.py tests/bases/test_bases.py

test-papers: $(INSTALLED)   ## the papers' package: its tests, and quick versions of its experiments
	$(PYTEST) -q $(BOTH) papers/tests

test-reference: $(INSTALLED)   ## the whole suite on numpy alone, as if the extension were absent
	BOCHNER_BACKEND=reference $(PYTEST) $(BOTH) -m "not slow and not torch"

test-slow: $(INSTALLED)   ## the checks that take minutes
	$(BIN)/pytest -n 0 -m "slow and not torch"

test-torch: $(INSTALLED)   ## with torch, which is heavy and optional; kernels of GPUs are interpreted
	$(BIN)/python -m pip install --quiet torch==2.13.0 triton
	$(BIN)/pytest -m torch
	TRITON_INTERPRET=1 $(BIN)/pytest -m torch -k cuda tests/ops/test_backends.py

test-cuda: $(INSTALLED)   ## the tests of tensors on a GPU, where torch with CUDA and Triton are installed
	BOCHNER_TEST_DEVICE=cuda $(BIN)/pytest -m torch tests/ops tests/maps tests/models/test_tensors.py tests/models/test_devices.py tests/test_torch.py

fuzz: $(INSTALLED)   ## damaged and hostile files: CASES=100000
	PYTHONPATH=tests $(BIN)/python -m helpers.fuzz $(or $(CASES),100000)
	PYTHONPATH=tests $(BIN)/python -m helpers.hostile $(or $(CASES),100000)

browser: $(INSTALLED)   ## the report in a real browser without a network; installs Debian's Chromium
	command -v chromium || $(ROOT) apt-get update
	command -v chromium || $(ROOT) apt-get install --yes --no-install-recommends chromium fonts-dejavu-core
	$(PYTEST) papers/tests/browser.py

docs: $(INSTALLED)   ## redraw the README's picture, the page of speeds and the page of the papers' numbers
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	$(BIN)/python docs/picture.py
	$(BIN)/python docs/performance.py
	$(BIN)/python docs/reproduction.py

defaults: $(INSTALLED)   ## fits without settings on every real set (needs BOCHNER_DATA), and docs/defaults.md
	$(BIN)/python docs/defaults.py

performance: $(INSTALLED)   ## measure everything (needs BOCHNER_DATA) and write docs/performance.md
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	$(BIN)/bochner bench all --out docs/performance.json
	$(BIN)/python docs/performance.py

contest: $(INSTALLED)   ## ours beside tuned peers on every real set (needs BOCHNER_DATA; hours), and docs/contest.md
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet --editable ".[contest]"
	$(BIN)/bochner contest all --seconds 30 --out docs/contest.json
	$(BIN)/python docs/contest.py

sanitize: $(INSTALLED)   ## native code under AddressSanitizer and UndefinedBehaviorSanitizer
	PYTHONPATH=tests $(BIN)/python -m helpers.sanitize

trapped: $(INSTALLED)   ## the AMX machine code on a processor without AMX (but with VNNI)
	PYTHONPATH=tests $(BIN)/python -m helpers.trapped

clean:           ## forget the environment and what was built
	rm -rf $(VENV) build
