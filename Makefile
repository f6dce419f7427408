# Every action by name, once. Cargo builds the whole workspace: with one package alone it would choose other features of
# shared dependencies and compile them again. The demo alone builds the command by itself, without Parquet, which is most of
# what there is to compile.
# `make demo` and `make test` work on a fresh machine: what is missing is installed
# (Debian packages by apt-get as root, the rest by cargo, npm and pip from their registries).

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CARGO ?= cargo
PYTHON ?= python3
VENV := .venv
# What the page is built and tested with, once it is there.
PAGES := web/node_modules/.package-lock.json
# Several at once wait for each other.
APT := flock Makefile bash -c 'apt-get update && apt-get install -y --no-install-recommends "$$@"' apt-get
# It draws no windows, so it is less to fetch; a Chromium that is there will do.
BROWSER := $(firstword $(wildcard /usr/bin/chromium-headless-shell /usr/bin/chromium) /usr/bin/chromium-headless-shell)
# The page's tools need 20.19.
NODE_IS_NEW_ENOUGH := const [major, minor] = process.versions.node.split(".").map(Number); process.exit(major * 100 + minor >= 2019 ? 0 : 1)
# What users build. Tests take `dev` for all there is: a release takes longer to compile than they take to run.
PROFILE := release
NEARSLOT := target/$(PROFILE:dev=debug)/nearslot
DEMO := target/demo/nearslot
DEMO_TRACE := demo/postgres-and-build.perf.txt.gz
DEMO_DRIVE := desktop-7200-90mb

# Clippy looks on while tests are compiled, and an error of its ends that: checked first and compiled then, all that the tests
# stand on would be gone through twice.
LINTED := RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-Dwarnings

.PHONY: help demo build check test soak cuts bench fmt lint unit web browser python wheel clusters fuzz docs clean

help: ## Say what there is
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

demo: $(DEMO) ## Build, inspect and compare a real trace, write out/report.html
	@mkdir -p out
	$(DEMO) inspect $(DEMO_TRACE) --drive $(DEMO_DRIVE)
	$(DEMO) compare $(DEMO_TRACE) --drive $(DEMO_DRIVE) --replay closed --depth 32 \
		--sched fcfs,look,mq-deadline,satf --html out/report.html --force
	@echo "open $(CURDIR)/out/report.html in a browser"

target/demo/nearslot: rust $(shell git ls-files 'crates/*' Cargo.toml Cargo.lock)
	$(CARGO) build --profile demo --locked --package nearslot --no-default-features
	@touch $@

build: $(NEARSLOT) ## Build the command with all that it can do

$(NEARSLOT): rust $(shell git ls-files 'crates/*' Cargo.toml Cargo.lock)
	$(CARGO) build --profile $(PROFILE) --locked --workspace
	@touch $@

check: fmt lint unit ## Format, lint, rules of the house, unit tests: under two minutes when warm

fmt: rust
	git ls-files '*.rs' | xargs rustfmt --edition 2024 --check

lint: plain linted

# The command as `make demo` builds it, in a folder of its own: so it can be linted while tests run.
plain: rust
	$(CARGO) clippy --package nearslot --no-default-features --locked -q --target-dir $${CARGO_TARGET_DIR:-target}/plain -- -D warnings

linted: rust
	$(LINTED) $(CARGO) test --workspace --lib --bins --tests --benches --no-run --locked -q

unit: rust
	$(LINTED) $(CARGO) test --workspace --lib --locked -q
	$(LINTED) $(CARGO) test --workspace --test it tidy:: --locked -q

# Compiling keeps both cores busy whatever is fetched meanwhile; what tests wait for leaves a core free now and then, and a browser
# keeps half of the cores idle.
test: ## Everything that CI runs
	$(MAKE) --no-print-directory -j3 fmt linted fetched
	$(MAKE) --no-print-directory -j2 plain tested $(VENV)/installed
	$(MAKE) --no-print-directory -j2 web python
	$(LINTED) $(MAKE) --no-print-directory examples PROFILE=dev DEMO=target/debug/nearslot

tested: rust
	$(LINTED) $(CARGO) test --workspace --locked

fetched: peers $(BROWSER) $(VENV)/bin/pip $(PAGES)

examples: demo
	test -s out/report.html

# How many scenarios, and the seed of the first; another one every second when not given.
COUNT ?= 1000
SEED ?= $(shell date +%s)
soak: rust clusters cuts ## A power cut at every event, ROUNDS (25, a million recoveries) times; every fault of validations; the SPC-1-like load at length; a million range writes; volumes whose drives fail, in twelve lives each, or go, each at twelve instants, and COUNT of these that are drawn; COUNT (1000) random scenarios from SEED (fresh) on, in release with checks for overflow
	$(VENV)/bin/pytest -q -n auto -m slow python/tests
	NEARSLOT_ONE_FAULT_IN=1 $(CARGO) test --workspace --locked --profile soak --test it validate::faults
	# Optimised as a release, without checks for overflow, it has the recorded results to the bit.
	$(CARGO) test --package nearslot-lab --locked --profile demo --lib --test it -- golden host
	NEARSLOT_SCENARIOS=$(COUNT) NEARSLOT_SCENARIO_SEED=$(SEED) \
		$(CARGO) test --workspace --locked --profile soak --test it scenarios::random -- --nocapture
	NEARSLOT_SPC1_REQUESTS=8000000 $(CARGO) test --workspace --locked --profile soak --test it spc1::
	NEARSLOT_AUDIT_EVERY=1 NEARSLOT_LIVES=12 NEARSLOT_INSTANTS=12 NEARSLOT_CASES=$(COUNT) NEARSLOT_DRAWS=$(COUNT) NEARSLOT_DRAW=$(SEED) $(CARGO) test --package nearslot-core --locked --profile soak --test it contents::
	NEARSLOT_LIVES=200 $(CARGO) test --workspace --locked --profile soak --lib filesystem::
	NEARSLOT_RANGE_WRITES=8000 $(CARGO) test --workspace --locked --profile soak --test it ranges::

# How often all worlds of power cuts are gone through, each time with another load and other losses: some 40,000 recoveries a round,
# so 25 rounds are a million.
ROUNDS ?= 25
cuts: rust ## A power cut at every event of all worlds of the crash tests, ROUNDS (25, a million recoveries) times, from SEED (fresh) on
	for seed in $$(seq $(SEED) $$(($(SEED) + $(ROUNDS) - 1))); do \
		NEARSLOT_EVENTS_PER_CUT=1 NEARSLOT_CUT_SEED=$$seed \
			$(CARGO) test --workspace --locked --profile soak --test it crash:: || exit 1; \
	done

fuzz: rust ## Ten seconds of random bytes into the trace readers (also part of `make test`)
	$(LINTED) $(CARGO) test --workspace --test it --locked -q fuzz_readers::

web: $(PAGES) $(BROWSER) ## The page: types, unit tests, reproducible build, browser test
	cd web && $(LINTED) npm test

$(PAGES): web/package-lock.json | node
	cd web && npm ci --no-audit --no-fund

python: $(VENV)/installed ## The Python package: build, install, lint, tests
	$(VENV)/bin/ruff format --check python crates/python
	$(VENV)/bin/ruff check python crates/python
	$(VENV)/bin/mypy --strict python/nearslot
	$(VENV)/bin/pytest -q -n auto python/tests

wheel: rust $(VENV)/bin/pip ## Build a wheel of the Python package into target/wheels, which pip installs in seconds
	rm -f target/wheels/nearslot-*.whl
	$(VENV)/bin/pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir target/wheels .
	@echo "pip install $$(ls $(CURDIR)/target/wheels/nearslot-*.whl)"

clusters: $(VENV)/installed ## Sweeps on clusters of Ray and Dask, whose workers are killed; installs both
	$(VENV)/bin/pip install --quiet --disable-pip-version-check 'nearslot[dask,ray]'
	$(VENV)/bin/pytest -q -m clusters python/tests

$(VENV)/bin/pip:
	$(PYTHON) -m venv $(VENV) || { $(APT) python3-venv && $(PYTHON) -m venv $(VENV); }

$(VENV)/installed: rust pyproject.toml $(shell git ls-files crates python Cargo.lock) | $(VENV)/bin/pip
	$(LINTED) MATURIN_PEP517_ARGS=--profile=dev $(VENV)/bin/pip install --quiet --disable-pip-version-check '.[test]'
	@touch $@

bench: rust ## Speed: decisions, recovery of a map, the simulator, trace readers, miss ratios
	$(CARGO) bench --workspace --bench hdd --bench decision --bench recovery --bench simulate --bench traces --bench records --bench hitrate

docs: ## Build the book from docs/src into target/book (its text is checked by `make test`)
	@command -v mdbook >/dev/null || { echo "mdbook is needed: $(CARGO) install mdbook"; exit 1; }
	mdbook build docs

clean: ## Remove what was built
	rm -rf target out $(VENV) web/node_modules

# --- what a fresh machine lacks ---

.PHONY: rust node peers plain linted tested fetched examples
rust:
	@command -v $(CARGO) >/dev/null || { echo "Rust 1.90 or newer is needed: https://rustup.rs"; exit 1; }

node:
	@command -v npm >/dev/null || $(APT) nodejs npm
	@node -e '$(NODE_IS_NEW_ENOUGH)' || npm install --global --no-audit --no-fund node@22

# Programs of others that tests drive for real.
peers:
	@command -v blkparse >/dev/null && command -v fio >/dev/null || $(APT) blktrace fio

$(BROWSER):
	$(APT) chromium-headless-shell fonts-dejavu-core || $(APT) chromium fonts-dejavu-core
