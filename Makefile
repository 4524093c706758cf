# Development tasks. `make` alone lists the targets; each prints the commands it runs and stops at the
# first that fails. What maintainers need besides is in .ci/tasks.mk: `make tasks` lists it.

CARGO    ?= cargo
PACKAGE  := forgeline
BINARY   := forgeline-cli
# The crates of the library, lowest first; each is a folder below pkg/ with a Cargo.toml.
CRATES   := json types macros parser llm core agent mcp skills store server testing
# Features that must each build alone, as must the library without any.
FEATURES := $(shell sed -n '/^\[features\]/,/^\[dependencies\]/s/^\([a-z][a-z0-9-]*\) *=.*/\1/p' Cargo.toml)
# Moments at which a service is killed.
KILLS    ?= 200
# The prompt of `make demo`.
PROMPT   ?= Which file here mentions cancellation most, and how many lines has it times 3?

.DEFAULT_GOAL := help
.PHONY: help demo serve test quick check fmt clippy doc features crates size gates kills kills-serve tasks

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

demo: ## run the agent offline: the demo model reads files of this repository and answers
	$(CARGO) build -p $(BINARY)
	$(CARGO) run -q -p $(BINARY) -- run --provider demo "$(PROMPT)"

serve: ## serve the demo model, to browsers at http://127.0.0.1:8787/
	$(CARGO) run -p $(BINARY) --features serve -- serve --provider demo --no-auth

test: ## run all tests (needs Rust and a C compiler); of one crate: cargo test -p forgeline-llm
	$(CARGO) test --workspace

quick: ## run all tests, with one cut in 16 of those that CI makes
	FORGELINE_QUICK=1 $(CARGO) test --workspace

check: fmt clippy doc crates features test ## run everything that must be green before a merge
	@echo "check: all green"

fmt:
	$(CARGO) fmt --all --check

clippy: ## lint everything
	$(CARGO) clippy --workspace --all-targets -- -D warnings

doc: ## build the documentation without warnings: target/doc/forgeline/index.html
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc -p $(PACKAGE) $(CRATES:%=-p forgeline-%) --no-deps --all-features

features: ## lint the library without features and with each alone, test it without TLS and with all of JSON Schema
	$(CARGO) clippy -p $(PACKAGE) --lib --no-default-features -- -D warnings
	@set -e; for feature in $(FEATURES); do \
		echo "$(CARGO) clippy -p $(PACKAGE) --lib --no-default-features --features $$feature -- -D warnings"; \
		$(CARGO) clippy -q -p $(PACKAGE) --lib --no-default-features --features $$feature -- -D warnings; \
	done
	$(CARGO) test -q --profile dev -p forgeline-llm -p forgeline-agent --lib --features forgeline-llm/http,forgeline-agent/schema -- transport tools::

crates:
	@set -e; limit() { \
		name=$$1 most=$$2; shift 2; \
		echo "$(CARGO) tree -e normal,build --prefix none --no-dedupe $$* | sort -u"; \
		count=$$($(CARGO) tree -q --locked -e normal,build --prefix none --no-dedupe -f '{p}' "$$@" | grep -v '^forgeline' | sort -u | wc -l); \
		echo "$$name: $$count crates of others, at most $$most"; \
		test "$$count" -gt 1 -a "$$count" -le "$$most"; \
	}; limit library 125 -p $(PACKAGE); limit command 200 -p $(BINARY); \
	limit sqlite 116 -p $(PACKAGE) --no-default-features --features sqlite; limit parser 14 -p forgeline-parser --depth 1

size: ## lines of code of each crate, repetition, import cycles, names, examples: now and as they should be
	$(CARGO) test -q -p forgeline-itest --test it sizes -- --nocapture

gates: ## measure the figures that must hold, one JSON line each; fails when one does not
	$(CARGO) run -q --release -p forgeline-bench -- gates

kills: ## kill a process with a journal at 100 moments, and finish its run in others
	FORGELINE_KILLS=100 $(CARGO) test -q -p forgeline-itest --test it killed -- --nocapture

kills-serve: ## kill a service at 200 moments, and at each event of a run, and look for what it acknowledged
	FORGELINE_KILLS_SERVE=$(KILLS) FORGELINE_CUTS_STEP=1 $(CARGO) test -q -p forgeline-itest --test it -- kept_service cut_readers --nocapture

tasks: ## list what maintainers need besides: fuzzing, benches, real servers and clients, generated pages
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-15s %s\n", $$1, $$2}' .ci/tasks.mk

include .ci/tasks.mk
