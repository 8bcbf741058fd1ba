# SPDX-License-Identifier: Apache-2.0
# Short names for the common tasks; CMakeLists.txt and CMakePresets.json define what they do.

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
# Debian's interpreter, to which its packages of Python belong; and the environment of `make install-python`.
PYTHON ?= /usr/bin/python3
VENV ?= build/venv
# Also works as root, and with fewer processors than ranks.
MPIRUN ?= OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe

# $(call packages,LIST..): install the missing packages of packages/LIST.txt.
packages = @scripts/deps.sh $(patsubst %,packages/%.txt,$(1))

define build_product
	cmake --preset release
	cmake --build --preset release -j $(JOBS) --target product
	ln -sfn release/bin/tessera build/tessera
endef

# Our own C++ files; evaluated only where used.
FOLDERS = $(wildcard tessera tools fuzz examples bench python cmake)
SOURCES = $(shell find $(FOLDERS) -name '*.h' -o -name '*.cc')
# Files with a separate build, and files that need OpenMP, which the clang packages do not include.
NOT_ANALYSED = cmake/% tools/bench/peers/onednn%

.DEFAULT_GOAL := help
.PHONY: help deps build run test test-all bench check format fuzz install \
        test-clang test-asan test-tsan test-long explorer test-explorer wheel install-python run-python

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

deps: ## install the missing Debian packages of all lists in packages/
	$(call packages,build test python python-test clang peers explorer)

build: ## optimised build; leaves the command at build/tessera
	$(call packages,build)
	$(build_product)

run: build ## build, then the demonstration in examples/demo.sh
	TESSERA=$(CURDIR)/build/tessera $(if $(wildcard examples/demo.sh),examples/demo.sh,build/tessera --help)

# $(call preset_test,PRESET): configure, build and test one preset.
define preset_test
	cmake --preset $(1)
	cmake --build --preset $(1) -j $(JOBS)
	ctest --preset $(1) -j $(JOBS)
endef

test: ## build everything, run all tests except the long sweeps
	$(call packages,build test python python-test)
	$(call preset_test,dev)

test-clang: ## the same with clang
	$(call packages,build test clang)
	$(call preset_test,clang)

test-asan: ## the same under the address and undefined behaviour sanitizers
	$(call packages,build test clang)
	$(call preset_test,asan)

test-tsan: ## the tests labelled `threads`, under the thread sanitizer
	$(call packages,build test clang)
	cmake --preset tsan
	@if ctest --preset tsan -N | grep -q '^Total Tests: 0'; then \
	  echo 'No test carries the label `threads`: nothing to run under the thread sanitizer.'; \
	else cmake --build --preset tsan -j $(JOBS) && ctest --preset tsan -j $(JOBS); fi

test-long: ## the full sweeps, optimised
	$(call packages,build test)
	$(call preset_test,long)

fuzz: ## run each fuzz target for FUZZ_SECONDS (60)
	$(call packages,build clang)
	cmake --preset fuzz
	cmake --build --preset fuzz -j $(JOBS)
	scripts/fuzz.sh build/fuzz $(FUZZ_SECONDS)

test-all: ## everything: both compilers, sanitizers, full sweeps, fuzzing
	$(MAKE) test
	$(MAKE) test-clang
	$(MAKE) test-asan
	$(MAKE) test-tsan
	$(MAKE) test-long
	$(MAKE) test-explorer
	$(MAKE) fuzz

bench: build ## measure layouts, relayouts compared with memcpy and peers, reshards, prices of moves, and MPI
	@scripts/deps.sh packages/peers.txt || echo 'Going on without the peers that are missing.'
	cmake --preset release
	cmake --build --preset release -j $(JOBS) --target product peers
	build/tessera bench layout
	build/tessera bench relayout
	build/tessera bench reshard
	build/tessera bench moves
	build/tessera bench ranks
	@if command -v mpirun > /dev/null && [ -e build/release/bin/tessera_bench_mpi.so ]; then \
	  for ranks in 2 4; do $(MPIRUN) -n $$ranks build/tessera bench mpi || exit 1; done; \
	else echo 'No mpirun, or no MPI to build with: tessera bench mpi is left out.'; fi

check: ## formatting, one definition of each type, every file compiled alone, static analysis
	$(call packages,build test python clang peers)
	clang-format-19 --dry-run -Werror $(SOURCES)
	cmake --preset odr
	cmake --build --preset odr -j $(JOBS)
	cmake --preset alone
	scripts/alone.py build/alone $(JOBS)
	scripts/tidy.py build/alone $(JOBS) $(filter-out $(NOT_ANALYSED),$(filter %.cc,$(SOURCES)))

format: ## format all sources in place
	$(call packages,clang)
	clang-format-19 -i $(SOURCES)

define build_explorer
	cmake -S web -B build/web -G Ninja --toolchain $(CURDIR)/cmake/wasm_toolchain.cmake
	cmake --build build/web -j $(JOBS)
	@command -v npm > /dev/null || { echo 'npm is missing: it installs the tools that web/package-lock.json names' >&2; exit 1; }
	npm --prefix web ci --ignore-scripts --no-audit --no-fund
	cd web && npx --no-install tsc --noEmit
	node web/build.mjs build/web/tessera.wasm build/explorer
endef

explorer: ## the page of docs/explorer.md in build/explorer, for any server and for `tessera view`
	$(call packages,build explorer)
	$(build_explorer)

test-explorer: ## the page: its answers are the command's, and Chromium clicks through every view
	$(call packages,build test explorer)
	$(build_explorer)
	cmake --preset dev
	cmake --build --preset dev -j $(JOBS) --target web_requests tessera-cli
	build/dev/bin/web_requests 2000 500 | node web/tests/answers.mjs build/web/tessera.wasm
	build/dev/bin/tessera graph --make llama --layers 27 --hidden 128 --heads 4 --kv-heads 4 --sequence 32 --vocabulary 200 \
	  --dtype bf16 --out build/explorer/large.json
	build/dev/bin/tessera plan build/explorer/large.json --target wse2 --candidates 6 --out build/explorer/large.plan.json
	node web/tests/page.mjs build/explorer --plan build/explorer/large.plan.json --pictures build/explorer/pictures

# Installs no packages, and needs only the permissions that PREFIX requires.
install: ## build, and install into PREFIX (/usr/local); DESTDIR is honoured
	$(build_product)
	cmake --install build/release --prefix $(PREFIX)

wheel: ## build the wheel of the Python package in build/dist, without a network
	$(call packages,build python)
	cmake --preset release -DTESSERA_PYTHON=ON -DPython_EXECUTABLE=$(PYTHON)
	TESSERA_BUILD=$(CURDIR)/build/release TESSERA_JOBS=$(JOBS) \
	  $(PYTHON) -m build --wheel --no-isolation --outdir build/dist python

install-python: wheel ## install the wheel into the virtual environment VENV (build/venv), made if it is missing
	[ -e $(VENV)/bin/python ] || $(PYTHON) -m venv --system-site-packages $(VENV)
	$(VENV)/bin/python -m pip install --no-index --no-deps --force-reinstall build/dist/tessera-*.whl
	$(VENV)/bin/python -c 'import tessera; print("tessera", tessera.__version__, "in $(VENV)")'

run-python: install-python ## the same, then the program of PyFlame's document and examples/mlp.py there
	python/tests/document.sh $(VENV)/bin/python
	$(VENV)/bin/python examples/mlp.py
