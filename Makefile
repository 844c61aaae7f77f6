# `make help` lists the targets. Everything is built under target/; what is missing on the machine is installed first.

export CARGO_TARGET_DIR := $(CURDIR)/target
export PATH := $(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH)
CARGO_BUILD = cargo build --release --locked --package fanin-cli
DEMO_BUILD = $(CARGO_BUILD) --no-default-features
KERNEL_BUILD = cargo build --release --locked --package fanin-kernel --features load

.DEFAULT_GOAL := help
.PHONY: help build demo test test-build test-rust test-go test-python test-browser python-test lint texts check check-long actions properties deny reproduce scorecards docs web fuzz kernel kernel-test memcheck release release-check reproducible publish-check clean

help: ## list these targets; `make measurements` lists measurements and long tests
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | awk -F'|' '{printf "make %-16s %s\n", $$1, $$2}'

build: ## build target/release/fanin, and fanin-kernel where libelf and zlib have their headers
	@scripts/setup.sh rust
	@$(CARGO_BUILD)
	@if [ -e /usr/include/libelf.h ] && [ -e /usr/include/zlib.h ]; then $(KERNEL_BUILD); fi

demo: ## compare schemes on the papers' settings, the main job, with a program that lacks the proxy, the testbed and Parquet
	@scripts/setup.sh rust
	@$(DEMO_BUILD)
	@scripts/demo.sh

test: test-rust test-go test-python test-browser ## run all tests, including the Go module's, the report in a browser and the Python package's quick tests, and check dependency rules

test-build:
	@scripts/setup.sh rust
	@cargo test --workspace --locked --no-run

# LEFT_OUT: a module of tests that .ci/run leaves out.
test-rust:
	@scripts/setup.sh rust
	@scripts/setup.sh shellcheck || echo "make test: scripts of advice are not checked"
	@scripts/setup.sh memcached nutcracker prometheus || echo "make test: docs/operate.md and the dashboard are not tested"
	@scripts/test.py $(if $(LEFT_OUT),--skip $(LEFT_OUT))
	@python3 scripts/dependencies.py
	@python3 scripts/import_cycles.py

# Without a network: the module has no dependencies.
test-go:
	@if command -v go >/dev/null; then cd go/limit && export GOTOOLCHAIN=local && go vet ./... && go test -count=1 ./...; \
	    else echo "skipped: the Go module's tests, since there is no go"; fi

test-python:
	@scripts/limit.py scripts/python.sh quick

test-browser:
	@scripts/setup.sh rust
	@scripts/limit.py web/scripts/test.sh or-skip

python-test: build ## test the Python package in full: wheel, types, style, executors, a Dask cluster, notebooks
	@scripts/python.sh

lint: texts ## check formatting, prose, paths in documents, seeds of tests, spelling, function sizes, parameters and clippy
	cargo clippy --workspace --all-targets --locked -- -D warnings

# Without a compiler.
texts:
	@scripts/setup.sh rust
	cargo fmt --all --check
	@python3 scripts/prose.py
	@python3 scripts/paths.py
	@python3 scripts/seeds.py
	@scripts/spelling.sh or-skip
	@python3 scripts/function_sizes.py
	@python3 scripts/parameters.py

check: ## run everything required before a release: promised times, .ci/run with every suite, long tests, licences, cost of a packet, validation table, web bundle, fuzzers
	@python3 scripts/promises.py
	@EVERYTHING=1 .ci/run
	@$(MAKE) --no-print-directory check-long cost validate-check web-check fuzz-check

check-long: deny properties actions ## run what is too long for CI, for every night: the papers' quick verdicts, every combination of TCP's switches, 2,000 cases of the daemon, coverage of confidence intervals, OpenTelemetry, object stores, licences
	@scripts/setup.sh rust
	@python3 scripts/dependencies.py --compile
	cargo test --locked --package fanin-cli --test all -- --ignored
	cargo test --locked --package fanin-tcp --test all -- --ignored
	cargo test --locked --package fanin-simulate-tests --test all -- --ignored no_effect::
	CASES=2000 cargo test --locked --package fanin-daemon --test all -- machine::
	cargo test --locked --package fanin-daemon --test all -- --ignored over_sockets::
	cargo clippy --locked --package fanin-cli --package fanin-daemon --features opentelemetry --all-targets -- -D warnings
	cargo test --locked --package fanin-daemon --features opentelemetry --test all -- opentelemetry
	cargo test --locked --package fanin-limit --features object_store,opentelemetry

actions: ## carry out CASES (10000) random sequences of an operator's actions by simulated sockets
	@scripts/setup.sh rust
	CASES=$(or $(CASES),10000) cargo test --locked --package fanin-daemon --test all -- machine::failover::actions::random

properties: ## run the property tests with CASES (10000) cases each from SEED (random, printed); hours
	@scripts/setup.sh rust
	@seed=$(or $(SEED),$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')); echo "make properties SEED=$$seed repeats these cases"; \
	    PROPTEST_RNG_SEED=$$seed PROPTEST_CASES=$(or $(CASES),10000) scripts/limit.py cargo test --locked --workspace --exclude fanin-cli

deny: ## check licences, duplicates, sources and advisories of libraries
	@scripts/deny.sh

reproduce: build ## reproduce all figures of all papers at full settings (an hour on two cores)
	@target/release/fanin reproduce all $(if $(OUT),--out $(OUT))

scorecards: build ## rewrite web/site/scorecards.html, which the site shows (MODE=--quick: fewer seeds, shorter runs)
	@target/release/fanin reproduce all $(MODE) --out target/scorecards
	@node web/scripts/scorecards.mjs target/scorecards/report.html

docs: ## rewrite the generated parts of docs/ and README.md
	@scripts/setup.sh rust
	UPDATE=1 cargo test --quiet --locked --package fanin-cli --test all -- docs:: house:: limits:: browser::stored
	UPDATE=1 cargo test --quiet --locked --package fanin-papers --lib typescript_types_match

fuzz: ## run all fuzzers for FUZZ_SECONDS (60) each
	@scripts/setup.sh fuzz
	@scripts/fuzz.sh $(or $(FUZZ_SECONDS),60)

kernel: ## build target/release/fanin-kernel, which `fanin kernel` runs; needs libelf and zlib with their headers
	@scripts/setup.sh rust
	$(KERNEL_BUILD)

kernel-test: ## test `fanin kernel` on this machine's kernel, in namespaces; needs root
	@scripts/setup.sh rust
	cargo test --locked --package fanin-kernel --features load

memcheck: ## run an example of the C interface under valgrind, which must be installed
	@scripts/setup.sh rust
	cargo build --release --locked --package fanin-c
	cc -std=c11 -O1 -Icrates/scenario/c/include crates/scenario/c/examples/incast.c -o target/release/incast -Ltarget/release -lfanin_c
	LD_LIBRARY_PATH=target/release valgrind --error-exitcode=1 --leak-check=full target/release/incast

release: ## build archives, Debian packages and a Python wheel in target/release-files
	@scripts/release.sh

release-check: ## install each file of `make release` in a fresh Debian root, as README.md says, and run it
	@scripts/release_check.sh

reproducible: ## build the archive and the Debian package twice, in two folders, and compare their bytes
	@scripts/reproducible.sh

publish-check: ## pack every crate and build it from its package
	@scripts/setup.sh rust
	cargo publish --workspace --dry-run --locked --quiet

clean: ## remove build output
	rm -rf target bench/build bench/relay/target fuzz/target fuzz/corpus fuzz/artifacts

# The report's charts: web/.
.PHONY: web web-check web-test web-picture site site-test
WEB_REPORT = target/web-report

site: ## build playground and documentation in target/site
	@web/scripts/site.sh

site-test: site build ## test the site in headless Chromium, and in Firefox where there is one
	@web/scripts/setup.sh chromium
	@web/scripts/setup.sh firefox || echo "site-test: not tested in Firefox"
	@FANIN=$(CURDIR)/target/release/fanin node --test --test-reporter=spec web/site/test/*.test.mjs

web: ## build the report's script and style sheet from web/src
	@web/scripts/setup.sh
	@npm --prefix web run build --silent

include bench/measurements.mk
