# What maintainers need besides the targets of the Makefile, which includes this file.

# Seconds that each fuzz target runs.
FUZZ_SECONDS ?= 600
FUZZ_SHORT   ?= 30
FUZZ_TARGETS := $(shell sed -n 's/^name = "\([a-z_]*\)"$$/\1/p' fuzz/Cargo.toml)
FUZZ_FLAGS   := -dict=fuzz/markers.dict -max_len=4096 -print_final_stats=1
# Decoders start from the bodies of their protocol.
FUZZ_SEEDS   := case $$target in decode_*) echo testdata/bodies/$${target\#decode_} | tr _ -;; *) echo fuzz/seeds/$$target;; esac
# Random cases of each property in `make properties`.
CASES    ?= 300000
# What `make deny` checks; without a network, `licenses bans sources`.
DENY     ?= advisories licenses bans sources
# The commit since whose branching `make mutants` looks at changed lines; how many of each room `make mutants-drawn` draws.
SINCE    ?= main
MUTANTS  ?= 20
SEED     ?= 1
MUTANTS_PYTHON := target/mutants/venv/bin/python
# Arguments of `make bench-parsers`, such as `--json`, `--chunk 64` or names of workloads.
PEERS    ?=
# The commit that `make bench-build` compares with.
BASE     ?= 2f39a830
# Where the book's links to files outside of it lead.
SOURCES  := https://github.com/forgeline/forgeline/blob/main
# Arguments of `make bench-clients`: `--json`, names of clients.
CLIENTS  ?=
# How long `make two-versions` takes, and the other build of the program.
MINUTES  ?= 60
OLDER    ?=
# The release that `make semver` compares with.
VERSION  ?=

.PHONY: package semver public-api hosts deny msrv mutants mutants-drawn found-table coverage-table mentions mutations properties adr-index bench bench-serve bench-peers bench-parsers bench-clients bench-report bench-build round-trips ctrlc fuzz fuzz-short llama-setup llama-test mcp-setup mcp-test model postgres-setup postgres-test redis-test serve-two kills-nodes two-versions service-setup service-test console-setup console-test record guide events-page

package: ## build each crate that is published from its archive, lowest first
	$(CARGO) package --locked -p $(PACKAGE) $(CRATES:%=-p forgeline-%)

semver: ## compare the public API with the release VERSION, such as 0.1.0 (needs `cargo install cargo-semver-checks --locked`)
	@test -n "$(VERSION)" || { echo "semver: which release? VERSION=0.1.0, a version on crates.io"; exit 2; }
	@set -e; for crate in $(PACKAGE) $(CRATES:%=forgeline-%); do \
		echo "$(CARGO) semver-checks -p $$crate --all-features --baseline-version $(VERSION)"; \
		$(CARGO) semver-checks -p $$crate --all-features --baseline-version $(VERSION); \
	done

public-api: ## rewrite docs/api: the public API of each crate, one item a line (needs `cargo install cargo-public-api --locked`)
	@mkdir -p docs/api
	@set -e; for crate in $(PACKAGE) $(CRATES:%=forgeline-%); do \
		echo "cargo public-api -p $$crate > docs/api/$$crate.txt"; \
		RUSTC_BOOTSTRAP=1 $(CARGO) rustdoc -q -p $$crate --lib --all-features -- -Z unstable-options --output-format json; \
		cargo-public-api -sss --rustdoc-json target/doc/$$(echo $$crate | tr - _).json > docs/api/$$crate.txt; \
	done

hosts: ## build programs that have reqwest beside forgeline, without TLS and with it, and run them
	@set -e; for host in plain installed usual both; do \
		echo "$(CARGO) run --manifest-path internal/hosts/Cargo.toml --features $$host"; \
		$(CARGO) run -q --manifest-path internal/hosts/Cargo.toml --target-dir target/hosts --features $$host; \
	done

deny: ## check licences, advisories and duplicate crates (needs `cargo install cargo-deny --locked`)
	$(CARGO) deny check $(DENY)

msrv: ## build with the minimum Rust of Cargo.toml
	@set -e; minimum=$$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml); \
	case "$$(rustc --version | cut -d ' ' -f 2)" in \
		$$minimum|$$minimum.*) echo "msrv: this toolchain is the minimum, $$minimum; make check builds with it" ;; \
		*) echo "rustup run $$minimum cargo check --workspace --all-targets --locked"; \
			rustup run $$minimum cargo check --workspace --all-targets --locked ;; \
	esac

found-table: ## list the measured defects, each with the tests that would see it again
	$(CARGO) test -q --workspace --test it found_table -- --nocapture

coverage-table: ## rewrite docs/coverage.md: what the agent must do, each row with its tests
	FORGELINE_WRITE_COVERAGE=1 $(CARGO) test -q --workspace --test it coverage -- --nocapture

events-page: ## rewrite the reference of docs/guide/events.md from the documentation of the types
	FORGELINE_WRITE_EVENTS=1 $(CARGO) test -q --workspace --test it events_page -- --nocapture

mentions: ## read ten times as many texts without calls as the tests do, and texts about calls (minutes)
	NEUTRAL_TEXTS=10 FORGELINE_REQUIRE_BODIES=1 $(CARGO) test -q --workspace --test it neutral -- --nocapture
	DOCUMENTED=100 $(CARGO) test -q -p forgeline-core --all-features --lib documented

mutations: ## damage 200,000 calls of all families at random, and print the share that is read right of each (a minute)
	MUTATIONS=200000 $(CARGO) test -q -p forgeline-core --all-features --lib mutated_calls -- --nocapture

properties: ## draw a hundred times as many random cases as the tests do, other ones in each run (minutes)
	PROPTEST_CASES=$(CASES) $(CARGO) test -q --release $(CRATES:%=-p forgeline-%) --all-features --lib

mutants: ## run the tests with each mutant of the lines that differ from SINCE (needs `cargo install cargo-mutants --locked` and pip)
	@mkdir -p target/mutants
	git diff $$(git merge-base $(SINCE) HEAD) -- '*.rs' > target/mutants/change.diff
	$(MUTANTS_PYTHON) .ci/mutants.py --in-diff target/mutants/change.diff

mutants-drawn: ## run them with MUTANTS of each room of .cargo/mutants.toml, drawn by SEED (an hour)
	$(MUTANTS_PYTHON) .ci/mutants.py --seed $(SEED) --count $(MUTANTS)

mutants mutants-drawn: $(MUTANTS_PYTHON)
$(MUTANTS_PYTHON):
	python3 -m venv target/mutants/venv
	target/mutants/venv/bin/pip install -q tree-sitter==0.26.1 tree-sitter-rust==0.24.2

adr-index: ## rewrite docs/adr/README.md from the decisions beside it
	FORGELINE_WRITE_ADR_INDEX=1 $(CARGO) test -q --workspace --test it adr_index -- --nocapture

bench: ## print the same figures as a table, with the floors
	$(CARGO) run -q --release -p forgeline-bench -- bench

round-trips: ## write 1,000 random calls in each form of each family, and read them back
	ROUND_TRIPS=1000 $(CARGO) test -q -p forgeline-core --all-features --lib round_trips

ctrlc: ## press Ctrl-C 200 times in each of the ways of the tests, on terminals of their own (Linux)
	FORGELINE_CTRLC=200 $(CARGO) test -q -p $(BINARY) --test cli terminal -- --nocapture --test-threads 2

fuzz: ## run each fuzz target for FUZZ_SECONDS, 600 by default (needs `cargo install cargo-fuzz --locked`)
	@for target in $(FUZZ_TARGETS); do \
		echo "$(CARGO) fuzz run -s none $$target -- -max_total_time=$(FUZZ_SECONDS)"; \
		mkdir -p fuzz/corpus/$$target; \
		$(CARGO) fuzz run -s none $$target fuzz/corpus/$$target $$($(FUZZ_SEEDS)) -- $(FUZZ_FLAGS) \
			-max_total_time=$(FUZZ_SECONDS) || exit 1; \
	done

fuzz-short: ## run each fuzz target 20,000 times or for FUZZ_SHORT seconds, 30 by default, the same each time
	@for target in $(FUZZ_TARGETS); do \
		rm -rf target/fuzz-short && mkdir -p target/fuzz-short; \
		$(CARGO) fuzz run -s none $$target target/fuzz-short $$($(FUZZ_SEEDS)) -- $(FUZZ_FLAGS) \
			-seed=1 -runs=20000 -max_total_time=$(FUZZ_SHORT) || exit 1; \
	done

bench-serve: ## start the service and measure it with up to 10,000 readers, beside a server of prepared frames, and as two nodes (Linux, 4 minutes)
	$(CARGO) build -q --release -p $(BINARY) --features serve,postgres
	$(CARGO) run -q --release -p forgeline-bench -- service target/release/forgeline

bench-report: ## measure everything beside the peers and rewrite docs/benchmarks.md and its pictures (an hour)
	@mkdir -p target/bench-report
	-$(CARGO) run -q --release -p forgeline-bench -- gates > target/bench-report/gates.jsonl
	-$(MAKE) -s bench-serve > target/bench-report/service.jsonl
	$(MAKE) -s bench-parsers PEERS=--json > target/bench-report/parsers.jsonl
	$(MAKE) -s bench-clients CLIENTS=--json > target/bench-report/clients.jsonl
	$(CARGO) run -q --release -p forgeline-bench -- report target/bench-report docs

bench-build: ## time cold builds of HEAD and of BASE, in seconds of CPU (minutes)
	internal/bench/build.sh $(BASE)

# One after the other: two measurements at the same time would disturb each other.
.NOTPARALLEL: bench-peers

bench-peers: bench-parsers bench-clients ## measure published parsers and clients beside ours (slow)

bench-parsers: ## measure the same streams through published parsers and ours
	$(CARGO) run -q --release --manifest-path internal/bench-peers/Cargo.toml \
		--target-dir target/bench-peers -- $(PEERS)

bench-clients: ## measure the same answer through rig, genai, async-openai, bare reqwest and ours
	$(CARGO) run -q --release --manifest-path internal/bench-peers/Cargo.toml \
		--target-dir target/bench-peers -p forgeline-bench-providers -- $(CLIENTS)

model: ## visit the states of the protocol of many nodes with three faults on each way: a minute of CPU, and 2 GB of memory
	FORGELINE_MODEL_FAULTS=3 $(CARGO) test -q --release -p forgeline-model -- --nocapture --test-threads 1

llama-setup: ## install the llama.cpp server that runs offline into target/llama-venv (pip)
	sh internal/testkit/llama/setup.sh

llama-test: llama-setup ## run the tests against that server; they fail instead of skipping
	FORGELINE_REQUIRE_LLAMA=1 $(CARGO) test --workspace --test it --test cli llama -- --nocapture

mcp-setup: ## install the MCP conformance suite, its server and a Node into target/mcp (pip, npm)
	sh internal/testkit/mcp/setup.sh

mcp-test: mcp-setup ## run the tests against them; they fail instead of skipping
	FORGELINE_REQUIRE_MCP=1 $(CARGO) test -p forgeline-itest --test it mcp_ -- --nocapture

postgres-setup: ## install a server of PostgreSQL into target/postgres (pip)
	sh internal/testkit/postgres/setup.sh

postgres-test: postgres-setup ## run the tests of its stores with each server that is installed; they fail instead of skipping
	FORGELINE_REQUIRE_POSTGRES=1 FORGELINE_ALL_FAULTS=1 $(CARGO) test -p forgeline-store --features postgres --test postgres

redis-test: ## run the tests of notifications over Redis (Debian: redis-server); they fail instead of skipping
	FORGELINE_REQUIRE_REDIS=1 $(CARGO) test -p forgeline-store --features redis --test redis

serve-two: ## serve the demo by two nodes on a private PostgreSQL, behind a proxy that takes the next node for each request
	$(CARGO) build -p $(BINARY) --features postgres
	$(CARGO) run -q -p forgeline-testkit --bin serve_two -- target/debug/forgeline

kills-nodes: ## kill a node at 200 moments of runs, the database at as many, and the owners of a run of 20 nodes, and look for what was acknowledged (15 minutes)
	FORGELINE_REQUIRE_POSTGRES=1 FORGELINE_KILLS_NODES=$(KILLS) $(CARGO) test -q -p $(BINARY) --features postgres --test cli -- nodes::kills nodes::database_kills nodes::many_nodes --nocapture

two-versions: ## let OLDER, another build of the program with the feature `postgres`, share a database with this one under load for MINUTES
	@test -x "$(OLDER)" || { echo "two-versions: which program? OLDER=path/to/forgeline"; exit 2; }
	FORGELINE_REQUIRE_POSTGRES=1 FORGELINE_OLDER=$(abspath $(OLDER)) FORGELINE_MINUTES=$(MINUTES) $(CARGO) test -q -p $(BINARY) --features postgres --test cli -- nodes::two_versions --nocapture

service-setup: ## install clients of the service that others made into target/service (pip, npm)
	internal/testkit/service/setup.sh

service-test: service-setup ## run them against the service; they fail instead of skipping
	FORGELINE_REQUIRE_SERVICE=1 $(CARGO) test -q --workspace --test it service_clients -- --nocapture
	FORGELINE_REQUIRE_SERVICE=1 $(CARGO) test -q --workspace --test cli serve::clients -- --nocapture

console-setup: ## install what drives the browser of the console's tests into target/console (npm; Chromium is the machine's)
	sh internal/testkit/console/setup.sh

console-test: console-setup ## run the tests of the web console in Chromium; they fail instead of skipping
	FORGELINE_REQUIRE_BROWSER=1 $(CARGO) test -p forgeline-itest --test it console:: -- --nocapture

record: llama-setup ## rewrite the recordings in testdata/recordings from that server
	FORGELINE_RECORD=1 FORGELINE_REQUIRE_LLAMA=1 $(CARGO) test --workspace --test it recordings::own -- --nocapture

guide: ## build the guide as a book: target/guide/index.html (needs `cargo install mdbook --locked`)
	mdbook build docs/guide
	sed -i -E 's,href="\.\./\.\./([^"]*)\.html,href="../../\1.md,; s,href="\.\./([^"]*)\.html,href="../\1.md,' target/guide/*.html
	sed -i 's,href="\.\./\.\./,href="$(SOURCES)/,g; s,href="\.\./,href="$(SOURCES)/docs/,g' target/guide/*.html
