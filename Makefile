# `make help` lists the targets. Everything is built under target/; what is missing on the machine is installed first.

export CARGO_TARGET_DIR := $(CURDIR)/target
export PATH := $(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH)
CARGO_BUILD = cargo build --release --locked --package fanin-cli

.DEFAULT_GOAL := help
.PHONY: help build demo test python-test lint check check-long deny reproduce scorecards sensitivity cost digests validate docs web fuzz soak failover testbed-check testbed-requests testbed-kill testbed-kernel kernel kernel-objects kernel-test kernel-churn release release-check reproducible publish-check clean

help: ## list these targets; `make measurements` lists those of bench/measurements.mk
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | awk -F'|' '{printf "make %-16s %s\n", $$1, $$2}'

build: ## build target/release/fanin
	@scripts/setup.sh rust
	@$(CARGO_BUILD)

demo: build ## compare schemes on the papers' settings: the main job
	@scripts/demo.sh

test: ## run all tests, including the report in a browser and the Python package's quick tests, and check dependency rules
	@scripts/setup.sh rust
	@scripts/setup.sh shellcheck || echo "make test: scripts of advice are not checked"
	@scripts/setup.sh memcached nutcracker prometheus || echo "make test: docs/operate.md and the dashboard are not tested"
	cargo test --workspace --locked
	@python3 scripts/dependencies.py
	@python3 scripts/import_cycles.py
	@scripts/python.sh quick
	@web/scripts/test.sh or-skip

python-test: build ## test the Python package in full: wheel, types, style, executors, a Dask cluster, notebooks
	@scripts/python.sh

lint: ## check formatting, prose, spelling, clippy and function sizes
	@scripts/setup.sh rust
	cargo fmt --all --check
	@python3 scripts/prose.py
	@scripts/spelling.sh or-skip
	cargo clippy --workspace --all-targets --locked -- -D warnings
	@python3 scripts/function_sizes.py

check: ## run everything required before a release: .ci/run, long tests, licences, cost of a packet, validation table, web bundle, fuzzers
	@.ci/run
	@$(MAKE) --no-print-directory check-long cost validate-check web-check fuzz-check

check-long: deny ## run what is too long for CI, for every night: the papers' quick verdicts, coverage of confidence intervals, OpenTelemetry, licences
	@scripts/setup.sh rust
	cargo test --locked --package fanin-cli --test all -- --ignored
	cargo clippy --locked --package fanin-cli --package fanin-daemon --features opentelemetry --all-targets -- -D warnings
	cargo test --locked --package fanin-daemon --features opentelemetry --test all -- opentelemetry

deny: ## check licences, duplicates, sources and advisories of libraries
	@scripts/deny.sh

reproduce: build ## reproduce all figures of all papers at full settings (half an hour on two cores)
	@target/release/fanin reproduce all $(if $(OUT),--out $(OUT))

scorecards: build ## rewrite web/site/scorecards.html, which the site shows (MODE=--quick: fewer seeds, shorter runs)
	@target/release/fanin reproduce all $(MODE) --out target/scorecards
	@node web/scripts/scorecards.mjs target/scorecards/report.html

sensitivity: build ## rewrite papers/*/sensitivity.json and .md (hours; resumes)
	@target/release/fanin reproduce all --sensitivity

cost: build ## count instructions per data packet, against bench/cost.json
	@scripts/setup.sh valgrind
	@python3 scripts/cost.py

digests: build ## compare digests of all tables of the bundled scenarios with bench/digests.json
	@python3 scripts/digests.py

validate: build ## rewrite docs/validation.md (a minute or two)
	@python3 bench/validate.py

docs: ## rewrite the generated parts of docs/ and README.md
	@scripts/setup.sh rust
	UPDATE=1 cargo test --quiet --locked --package fanin-cli --test all -- docs:: house:: limits::
	UPDATE=1 cargo test --quiet --locked --package fanin-papers --lib typescript_types_match

fuzz: ## run all fuzzers for FUZZ_SECONDS (60) each
	@scripts/setup.sh fuzz
	@scripts/fuzz.sh $(or $(FUZZ_SECONDS),60)

soak: build ## run `fanin front` under load with faults, reloads and hand-overs for SECONDS (3600)
	@scripts/setup.sh memcached
	@python3 bench/soak.py --seconds $(or $(SECONDS),3600)

failover: build ## kill, stop, slow and cut off servers of `fanin front` FAULTS (500) times
	@scripts/setup.sh memcached
	@python3 bench/failover.py --faults $(or $(FAULTS),500)

testbed-check: build ## hold `fanin testbed` against predictions at 24 random points of SEED (1), on MACHINE (here)
	@python3 bench/testbed_check.py --seed $(or $(SEED),1) --machine $(or $(MACHINE),here)

testbed-requests: build ## hold algorithms of key-value requests by `fanin testbed` against predictions, on MACHINE (here), with SEEDS (3); MEMCACHED=1: by real programs
	@python3 bench/testbed_requests.py --machine $(or $(MACHINE),here) --seeds $(or $(SEEDS),3) $(if $(MEMCACHED),--memcached)

testbed-kernel: build kernel ## hold gentle slow start and M21 by `fanin-kernel` against predictions (KIND=gss|m21, SEEDS=3), as root
	@python3 bench/kernel_testbed.py --kind $(or $(KIND),gss) --seeds $(or $(SEEDS),3)

testbed-kill: build ## kill `fanin testbed` KILLS (10) times at random moments and look for what is left
	@scripts/setup.sh memcached
	@python3 bench/testbed_kill.py --kills $(or $(KILLS),10)

kernel: ## build target/release/fanin-kernel, which `fanin kernel` runs; needs libelf and zlib with their headers
	@scripts/setup.sh rust
	cargo build --release --locked --package fanin-kernel --features load

kernel-objects: ## rebuild the BPF objects in crates/kernel/objects; needs clang-16, llvm-16 and libbpf's headers
	@crates/kernel/build-objects.sh

kernel-test: ## test `fanin kernel` on this machine's kernel, in namespaces; needs root
	@scripts/setup.sh rust
	cargo test --locked --package fanin-kernel --features load

kernel-churn: kernel ## load, unload, try and kill `fanin kernel` under traffic for MINUTES (60), as root, and look for warnings and remains
	@python3 bench/kernel_churn.py --minutes $(or $(MINUTES),60) --seed $(or $(SEED),1)

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
