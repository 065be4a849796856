# methodbook
#
# Everything sets itself up in .venv (reused while the requirements are unchanged).
#   make demo    run the finished chapters on real input; prints the ledger, writes report/methodbook.html
#   make test    regenerate and compare, lint, types, run whole notebooks, run the tests
#   make check   only: generated files equal the notebooks, lint, types
#   make types   only: the types in the package's signatures (mypy)
#   make docs    build the documentation site in docs/_build/html
#   make bench   compare with peer libraries, writes results/benchmarks/*.json
#   make lab     open the notebooks in JupyterLab
#
# TORCH is installed first. Where no CPU build is taken (the default wheel on Linux), it downloads several GB;
# pass a CPU wheel's path or address instead:  make demo TORCH=path/to/torch-cpu.whl
export TORCH ?= torch==2.13.0

# the first Python here that methodbook supports (3.11 to 3.13); override with PYTHON=...
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && echo $$p && exit; done; \
	echo python3)

.DEFAULT_GOAL := help
.PHONY: help demo test check types docs bench lab

help:
	@sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile

demo test check types docs bench lab:
	@command -v $(PYTHON) >/dev/null 2>&1 || { echo "methodbook needs Python 3.11 to 3.13, and '$(PYTHON)' is not here: install one, or say make PYTHON=..." >&2; exit 1; }
	@PYTHONDONTWRITEBYTECODE= $(PYTHON) tools/steps.py $@
