# Every target explains itself: `make` alone lists them.
PYTHON ?=
PORT ?=
ARGS ?=
export PYTHON

VENV_PYTHON := .venv/bin/python

.DEFAULT_GOAL := help
.PHONY: help run demo-llm install test soak check format bench clean

help: ## Say what make can do here
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

run: ## Serve the dashboard on http://127.0.0.1:8501; another port: make run PORT=8600
	@sh scripts/bootstrap.sh run
	@$(VENV_PYTHON) -m sitt_core.surfaces.serve $(if $(PORT),--port "$(PORT)")

demo-llm: ## Serve the dashboard with pretend language models on loopback, to see answers, judging and drafts without a key
	@sh scripts/bootstrap.sh run
	@$(VENV_PYTHON) -m tests.fakes.demo $(if $(PORT),--port "$(PORT)")

install: ## Make .venv and install what the dashboard needs; another Python: make install PYTHON=python3.12
	@sh scripts/bootstrap.sh run

test: ## Run all tests, those in a browser too; a part of them: make test ARGS="-m 'not browser'"
	@sh scripts/bootstrap.sh test
	$(VENV_PYTHON) -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(ARGS)

soak: ## Run the tests that take long: threads, kills and readers for minutes
	@sh scripts/bootstrap.sh check
	$(VENV_PYTHON) -m pytest -m soak $(ARGS)

check: ## Check format, lint, types and the direction of imports; needs no browser
	@sh scripts/bootstrap.sh check
	$(VENV_PYTHON) -m ruff format --check .
	$(VENV_PYTHON) -m ruff check .
	$(VENV_PYTHON) -m mypy
	$(VENV_PYTHON) -m pytest tests/test_architecture.py

format: ## Bring the code into the format that check asks for
	@sh scripts/bootstrap.sh check
	$(VENV_PYTHON) -m ruff format .
	$(VENV_PYTHON) -m ruff check --fix .

bench: ## Run every benchmark in benchmarks/, one after the other
	@sh scripts/bootstrap.sh check
	@set -e; for file in benchmarks/[!_]*.py; do name=$$(basename "$$file" .py); echo "== $$name"; $(VENV_PYTHON) -m "benchmarks.$$name"; done

clean: ## Remove .venv and the caches; what you built or wrote in data/ stays
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name .git -prune -o -path ./data -prune -o -type d -name __pycache__ -prune -exec rm -rf {} +
