# Every command of the project; `make` alone lists them.
# The two that a newcomer needs, `make demo` and `make test`, set up what they need themselves.

BIN := .venv/bin
UV = $(firstword $(shell command -v uv) $(BIN)/uv)
COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --custom-compile-command "make lock" $(LOCK_FLAGS)

.DEFAULT_GOAL := help
ifndef TOGETHER
.NOTPARALLEL:
endif
.PHONY: help demo test check format lint types imports timing generated words unit tested coverage compiled bench chaos many-hosts bot-proof message-proof mcp-proof heartbeat-proof doors-proof ops-proof api-proof ui-proof tour versions plugins install-proof examples-proof house docs site fix lock demo-env dev-env clean

help: ## List these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

demo: demo-env ## Start everything on this machine, with stand-ins for the real channels
	@exec $(BIN)/tocsin demo

# The types are checked beside the tests, which wait for something most of the time.
test: dev-env ## Run every check and every test
	@$(MAKE) --silent -j 2 TOGETHER=yes format lint imports timing
	@$(MAKE) --silent -j 2 TOGETHER=yes types tested

tested: compiled
	@$(MAKE) --silent unit

check: dev-env ## Run every check but the tests
	@$(MAKE) --silent -j 2 TOGETHER=yes types format lint imports timing generated compiled words

bench: dev-env ## Measure start-up, sending, throughput and the queue
	@$(BIN)/python benchmarks/run.py

chaos: dev-env ## Kill, pause, fill and disturb everything, at full size; prints a table
	@$(BIN)/python -m tools.chaos

many-hosts: dev-env ## Run many hosts over one Redis, kill parts at random and print the ledger (ARGS=--full)
	@$(BIN)/python -m tools.many_hosts $(ARGS)

bot-proof: dev-env ## Kill, cut off and throttle the bot, at full size; prints a table
	@$(BIN)/python -m tools.bot_proof

message-proof: dev-env ## Edit, press and attach at full size while processes are killed, for more than an hour; prints a table
	@$(BIN)/python -m tools.message_proof

heartbeat-proof: dev-env ## Ping 10,000 heartbeats, let them fall silent, kill what watches them; prints figures
	@$(BIN)/python -m tools.heartbeat_proof $(ARGS)

doors-proof: dev-env ## Kill the gateway while 10,000 requests arrive at a door, and time its answers; prints figures
	@$(BIN)/python -m tools.doors_proof $(ARGS)

mcp-proof: dev-env ## Connect agents over MCP, in every mode of the official client; measure and fuzz; prints a table
	@$(BIN)/python -m tests.features.mcp.proof

ops-proof: dev-env ## Measure SSH, cron, runs, watchers, task jobs and the status, at full size; prints a table
	@$(BIN)/python -m tools.ops_proof

ui-proof: dev-env ## Measure and try every page of the dashboard, at full size; prints a table
	@$(BIN)/python -m tools.ui_proof

tour: dev-env ## Take the pictures of docs/tour.md anew, from the demo
	@$(BIN)/python -m tools.tour

api-proof: dev-env ## Measure the REST API, with a thousand streams and wrong passwords; try other people's clients
	@$(BIN)/python benchmarks/run.py rest streams logins
	@$(BIN)/python -m tools.api_clients

versions: dev-env ## Run the tests with the oldest and the newest versions of packages that pyproject.toml allows
	@$(BIN)/python -m tools.versions lowest
	@$(BIN)/python -m tools.versions newest

plugins: dev-env ## Install a wheel with the extra testing elsewhere and run copies of the examples there
	@$(BIN)/python -m tools.plugins

.PHONY: reach-proof
reach-proof: dev-env ## Send to products that fail while workers are killed, at full size; prints a table
	@$(BIN)/python -m tools.reach_proof $(ARGS)

install-proof: dev-env ## Install, upgrade and restore the image, a wheel and a checkout in empty Debian roots; prints a table
	@$(BIN)/python -m tools.install_proof $(ARGS)

examples-proof: dev-env ## Run the tests of properties with 1,000 examples each; `make test` tries 40
	@$(BIN)/pytest -n 2 -m hypothesis --hypothesis-profile "many examples"

house: dev-env ## Print the figures of the architecture: lines, files, rooms, names, cycles
	@$(BIN)/python -m tools.house

docs: dev-env ## Write the generated tables in docs/ anew
	@$(BIN)/python -m tools.docs

site: dev-env ## Write the documentation as a site to build/site, with search
	@$(BIN)/python -m tools.site

coverage: dev-env ## Run the tests and print the branches they missed
	@mkdir -p .cache/coverage && rm -f .cache/coverage/*
	@$(BIN)/coverage run -m pytest -n 4
	@$(BIN)/coverage combine --quiet && $(BIN)/coverage report

fix: dev-env ## Format the code and mend what ruff can mend
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format .

lock: ## Pin the dependencies anew (LOCK_FLAGS=--upgrade takes newer releases)
	@command -v $(UV) >/dev/null || { sh tools/bootstrap.sh dev && $(BIN)/python -m pip install --quiet uv; }
	$(COMPILE) pyproject.toml --all-extras --group build --group dev -o requirements/dev.txt
	$(COMPILE) pyproject.toml --extra demo --extra chat --group build -c requirements/dev.txt -o requirements/demo.txt
	$(COMPILE) pyproject.toml -c requirements/dev.txt -o requirements/core.txt
	$(COMPILE) pyproject.toml --extra chat -c requirements/dev.txt -o requirements/chat.txt
	$(COMPILE) pyproject.toml --extra voice -c requirements/dev.txt -o requirements/voice.txt
	$(COMPILE) pyproject.toml --extra otel -c requirements/dev.txt -o requirements/otel.txt
	$(COMPILE) --group build -c requirements/dev.txt -o requirements/build.txt

clean: ## Remove the environment and every cache
	rm -rf .venv .cache .coverage* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist

demo-env:
	@sh tools/bootstrap.sh demo

dev-env:
	@sh tools/bootstrap.sh dev

format: dev-env
	@$(BIN)/ruff format --check --output-format concise .

lint: dev-env
	@$(BIN)/ruff check .

# In a fresh clone, each worker would compile all tests; here a processor does it once, while mypy takes the other.
compiled: dev-env
	@test -d tests/__pycache__ || PYTHONDONTWRITEBYTECODE= $(BIN)/pytest --collect-only -q >/dev/null || true

# With a module that uses the objects which `module:NAME` names in texts, so that mypy checks these, too.
types: dev-env
	@$(BIN)/mypy src tools benchmarks $$($(BIN)/python -m tools.named_objects)

imports: dev-env
	@$(BIN)/lint-imports

# A test as well, so `make test` need not run it apart.
words: dev-env
	@$(BIN)/pytest --quiet --no-header --no-summary tests/house/test_words.py

timing: dev-env
	@$(BIN)/python -m tools.timing

# Also the packages that the dashboard ships: their checksums, and npm's versions. `make test` has a test of it.
generated: dev-env
	@$(BIN)/python -m tools.docs --check

# Neighbouring tests share fixtures, so each worker takes them together; without its cache, each worker compiles all.
# More workers than processors: many tests wait, for a process that was killed, for Redis or for a browser.
unit: dev-env
	@PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n 6 --dist worksteal
