# `make help` lists the targets. Everything is built under target/; what is missing on the machine is installed first.

export CARGO_TARGET_DIR := $(CURDIR)/target
export PATH := $(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH)
CARGO_BUILD = cargo build --release --locked --package fanin-cli

.DEFAULT_GOAL := help
.PHONY: help build demo test lint check fuzz-check digests digests-update deny reproduce sensitivity cost cost-functions cost-update bench bench-against bench-htsim bench-cores bench-tree bench-roles bench-requests bench-placement torture conformance differential bench-front bench-front-against bench-windows bench-settings bench-loops soak siege hunger validate validate-check linux-validate linux-check linux-instant linux-instant-record linux-instant-judge advise-lines advise-check advise-check-slow advise-bench advise-papers docs fuzz release publish-check sanitize clean python-test bench-python bench-python-first bench-python-laws bench-python-paper bench-python-faults diagnose-bench diagnose-check diagnose-tshark

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "make %-16s %s\n", $$1, $$2}'

build: ## build target/release/fanin
	@scripts/setup.sh rust
	@$(CARGO_BUILD)

demo: build ## compare schemes on the papers' own settings: the main job
	@scripts/demo.sh

test: ## run every test, the report's in a browser and the Python package's quick ones too, and check what each crate may depend on
	@scripts/setup.sh rust
	@scripts/setup.sh shellcheck || echo "make test: scripts of advice are not checked"
	cargo test --workspace --locked
	@python3 scripts/dependencies.py
	@python3 scripts/import_cycles.py
	@scripts/python.sh quick
	@web/scripts/test.sh or-skip

python-test: build ## the Python package in full: its wheel (held to abi3, installed in every CPython found), types and style, its tables beside the program's, executors, a Dask cluster, notebooks; installs what it needs under target/python
	@scripts/python.sh

lint: ## formatting, clippy and the rules of clippy.toml, warnings being errors; no function over 70 lines
	@scripts/setup.sh rust
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	@python3 scripts/function_sizes.py

check: ## all that must hold before a change lands: .ci/run, then libraries, the cost of a packet, the validation table and the web bundle as committed, fuzzers
	@.ci/run
	@$(MAKE) --no-print-directory deny cost validate-check web-check fuzz-check

deny: ## licences, duplicates and sources of the libraries (deny.toml), and advisories where their database can be had; where cargo-deny cannot, skipped with a reason, failed in CI
	@scripts/deny.sh

reproduce: build ## the figures of every paper at its full settings, and which claims hold (an hour or more)
	@target/release/fanin reproduce all $(if $(OUT),--out $(OUT))

sensitivity: build ## write papers/*/sensitivity.json and .md anew: on what the verdicts hang (many minutes, resumable)
	@target/release/fanin reproduce all --sensitivity

cost: build ## instructions a data packet, against bench/cost.json
	@scripts/setup.sh valgrind
	@python3 scripts/cost.py

cost-functions: build ## where these instructions go, by function
	@scripts/setup.sh valgrind
	@python3 scripts/cost.py --functions

digests: build ## digests of every table of the bundled scenarios, against bench/digests.json
	@python3 scripts/digests.py

digests-update: build ## write bench/digests.json anew
	@python3 scripts/digests.py --update

cost-update: build ## write bench/cost.json anew
	@scripts/setup.sh valgrind
	@python3 scripts/cost.py --update

bench: build ## speed against ns-3, in turn (installs ns-3; some minutes)
	@python3 bench/run.py

bench-against: build ## speed against another commit's engine, REV (one of 20 November 2026), in turn; it judges nothing
	@python3 bench/drift.py $(if $(REV),--rev $(REV))

bench-htsim: build ## speed against csg-htsim, built from your checkout of it, HTSIM=/path/to/csg-htsim, in turn
	@scripts/setup.sh htsim
	@python3 bench/htsim.py $(if $(HTSIM),"$(HTSIM)")

bench-cores: build ## a shuffle among 1,000 hosts on two cores beside one, in turn
	@python3 bench/cores.py

bench-python: build ## 5,000 short runs on a Dask cluster of two workers beside the program's two threads; a frame of a million rows
	@scripts/python.sh build
	@target/python/tools/bin/python bench/python/cluster.py
	@target/python/tools/bin/python bench/python/frame.py

bench-python-first: build ## seconds from import to a first figure, beside the program's
	@scripts/python.sh build
	@target/python/tools/bin/python bench/python/first.py

bench-python-laws: ## what a law in Python costs beside the same in Rust, on work B
	@scripts/python.sh build
	@target/python/tools/bin/python bench/python/laws.py

bench-python-paper: build ## a paper's quick verdicts, those of PAPER (m21), through a Dask cluster of two workers: the program's scorecard
	@scripts/python.sh build
	@target/python/tools/bin/python bench/python/paper.py --paper $(or $(PAPER),m21)

bench-python-faults: ## SWEEPS (20) sweeps on a Dask cluster, a worker killed in each at a random moment: the same tables
	@scripts/python.sh build
	@target/python/tools/bin/python bench/python/faults.py --sweeps $(or $(SWEEPS),20)

bench-tree: ## how long a front end takes to form swarms and their tree (S-10), against its budget
	@scripts/setup.sh rust
	@cargo bench --quiet --locked --package fanin-fanout --bench tree

bench-roles: ## how long a front end, a hub and a data server take for a message, against its budget
	@scripts/setup.sh rust
	@cargo bench --quiet --locked --package fanin-roles --bench roles

bench-requests: ## the memory of 150,000 servers and the time of a request for 1,000 objects, against their budgets
	@scripts/setup.sh rust
	@cargo bench --quiet --locked --package fanin-sim --bench requests

bench-placement: build ## plans beside mt-KaHyPar's and METIS's on twenty logs, six with three replicas and fourteen with one (from PyPI; an hour); how long a period's plan takes (P-7b), and with ten million requests, against its budget; what plans are worth
	@scripts/setup.sh rust
	@scripts/partitioners.sh
	@target/placement/venv/bin/python bench/placement/run.py
	@python3 bench/placement/large.py
	@cargo bench --quiet --locked --package fanin-placement --bench plan
	@cargo test --quiet --locked --package fanin-placement --test placement -- --ignored --nocapture

torture: ## CASES (10000) random schedules of faults, of requests and of moves, from FIRST (1000) on, 100 times as many of the front end's events (docs/reliability.md), 300 sawtooths, and what is said of SCENARIOS (2000) random ones
	@scripts/setup.sh rust
	CASES=$(or $(CASES),10000) FIRST=$(or $(FIRST),1000) cargo test --quiet --locked --package fanin-sim --test all fault_schedules:: -- --ignored --nocapture
	CASES=$(or $(CASES),10000) FIRST=$(or $(FIRST),1000) cargo test --quiet --locked --package fanin-roles --test all planner:: -- --ignored --nocapture
	@cargo test --quiet --locked --package fanin-sim --test all sawtooth:: -- --ignored
	CASES=$$(( $(or $(CASES),10000) * 34 )) FIRST=$(or $(FIRST),1000) cargo test --quiet --locked --package fanin-daemon --test all machine::wh -- --nocapture
	CASES=$(or $(CASES),10000) FIRST=$(or $(FIRST),1000) cargo test --quiet --locked --package fanin-daemon --test all -- machine::any_bytes machine::plans --nocapture
	@cargo build --quiet --release --locked --package fanin-cli
	@python3 bench/verdicts.py --cases $(or $(SCENARIOS),2000) --first $(or $(FIRST),1000)

validate: build ## write docs/validation.md anew (a minute or two)
	@python3 bench/validate.py

linux-validate: ## measure Linux's table afresh in an emulated machine (an hour of a core): bench/reference/linux-servers-6.1.json
	@scripts/setup.sh rust
	@python3 bench/linux/record.py

linux-check: build ## three points at random, drawn by SEED (1), on a real kernel and here
	@python3 bench/linux/check.py --seed $(or $(SEED),1)

linux-instant: ## run SCENARIO (bench/scenarios/linux-instant.toml) on a real kernel whose processor takes no time (User-mode Linux 6.12); builds it first, in minutes
	@python3 bench/linux/instant.py $(or $(SCENARIO),bench/scenarios/linux-instant.toml)

linux-instant-record: ## record a grid of points on that kernel (40 minutes of a core; resumes): bench/reference/linux-instant-6.12.json
	@python3 bench/linux/record_instant.py

linux-instant-judge: build ## compare fanin with that record: goodput, p99 of a round, verdict, by region
	@python3 bench/linux/judge_instant.py

advise-lines: build ## run the scripts of `fanin advise` for Linux and SONiC in network namespaces: applied, verified, undone, each command killed (root; else skipped with a reason)
	@python3 bench/advise/lines.py

advise-check: build ## ten clusters at 10 and 25 Gbit/s that collapse, drawn by SEED (1): the first remedy's own lines on Linux 6.12 in time travel, gain measured and predicted (some minutes)
	@python3 bench/linux/advise_instant.py --seed $(or $(SEED),1)

advise-check-slow: build ## two clusters of up to 300 Mbit/s that collapse, drawn by SEED (1): the same on Linux 6.1 in an emulated machine
	@python3 bench/linux/advise.py --seed $(or $(SEED),1)

advise-bench: build ## the first remedy against a grid of four times the budget, on 24 clusters at random or those of SEEDS (an hour or two; resumes)
	@python3 bench/advise/clusters.py $(SEEDS)

advise-papers: build ## write docs/advised.md anew: advice on the papers' settings (minutes)
	@python3 bench/advise/papers.py

validate-check: build ## check that docs/validation.md is what this code gives
	@python3 bench/validate.py --check

diagnose-bench: build ## what `fanin diagnose` finds in captures of random scenarios, and its speed on a gigabyte (bench/diagnose)
	@python3 bench/diagnose/measure.py --cases $(or $(CASES),30) --first $(or $(FIRST),1) --speed 1

diagnose-check: build ## captures of a real kernel, of points drawn by SEED (1), and what `fanin diagnose` finds in them
	@python3 bench/diagnose/kernel.py --seed $(or $(SEED),1) --keep $$(mktemp -d)/kernel

diagnose-tshark: build ## counts of `fanin diagnose` against tshark's in the same captures
	@scripts/setup.sh tshark
	@python3 bench/diagnose/tshark.py

docs: ## write the generated pages of docs/, the picture in README.md, the fuzzer's words and web/src/data.ts anew
	@scripts/setup.sh rust
	UPDATE=1 cargo test --quiet --locked --package fanin-cli --test all -- docs:: house:: limits::
	UPDATE=1 cargo test --quiet --locked --package fanin-papers --lib what_the_charts_know

fuzz: ## fuzz what reads a scenario, a list of flows, messages between roles, memcached's protocols, captures and counters, for FUZZ_SECONDS (60) each
	@scripts/setup.sh fuzz
	@scripts/fuzz.sh $(or $(FUZZ_SECONDS),60)

fuzz-check: ## check that the fuzzers compile, which nothing else does
	@scripts/setup.sh rust
	@cargo check --quiet --locked --manifest-path fuzz/Cargo.toml --target-dir target/fuzz

conformance: build ## clients' own tests before memcached and before `fanin front`: memccapable, pymemcache, gomemcache
	@scripts/setup.sh memcached
	@python3 bench/conformance.py

differential: build ## the same random bytes to memcached and to `fanin front`, for SECONDS (60): the same must come back
	@scripts/setup.sh memcached
	@python3 bench/differential.py --seconds $(or $(SECONDS),60)

bench-front: build ## `fanin front` beside nutcracker: CPU a get, latency at equal load, memory, as ratios in one run
	@scripts/setup.sh memcached nutcracker
	@cargo build --quiet --release --locked --package fanin-daemon --example load
	@python3 bench/front.py --idle

bench-front-against: build ## CPU a key of `fanin front` beside that of another build, OTHER=/path/to/fanin, in turn; it judges nothing
	@scripts/setup.sh memcached
	@cargo build --quiet --release --locked --package fanin-daemon --example load
	@python3 bench/front_against.py "$(OTHER)"

bench-windows: build ## windows over servers in `fanin front` before a narrow port, in namespaces, beside what is predicted (needs root)
	@scripts/setup.sh memcached
	@python3 bench/windows.py

bench-settings: build ## what a multiget's law and a log cost `fanin front` where servers lack processor
	@scripts/setup.sh memcached
	@cargo build --quiet --release --locked --package fanin-daemon --example load
	@python3 bench/settings.py

bench-loops: build ## what an event loop costs: a bare relay over epoll, io_uring and tokio, beside `fanin front` and nutcracker
	@scripts/setup.sh memcached nutcracker
	@cargo build --quiet --release --locked --package fanin-daemon --example load
	@cargo build --quiet --release --locked --manifest-path bench/relay/Cargo.toml
	@python3 bench/loops.py

soak: build ## `fanin front` under mixed load with faults for SECONDS (3600): no wrong value, memory flat
	@scripts/setup.sh memcached
	@python3 bench/soak.py --seconds $(or $(SECONDS),3600)

siege: build ## servers that answer anything, CASES (200000) times in memory, and clients that send anything for SECONDS (1800): nobody is harmed
	@scripts/setup.sh rust memcached
	CASES=$(or $(CASES),200000) FIRST=$(or $(FIRST),1000) cargo test --quiet --locked --package fanin-daemon --test all machine::whatever_servers -- --nocapture
	@python3 bench/siege.py --seconds $(or $(SECONDS),1800)

hunger: build ## clients and servers that would have `fanin front` take all memory, before a budget of 64 MiB: what each process had at most
	@scripts/setup.sh memcached
	@python3 bench/hunger.py

release: ## archives for Linux and a Debian package with completions, man pages and checksums: target/release-files
	@scripts/release.sh

publish-check: ## pack every crate as it would be published, and build each from what was packed
	@scripts/setup.sh rust
	cargo publish --workspace --dry-run --locked --quiet

sanitize: ## the ring's tests under AddressSanitizer (nightly)
	@scripts/setup.sh fuzz
	@scripts/sanitize.sh

clean: ## remove what was built
	rm -rf target bench/build bench/relay/target fuzz/target fuzz/corpus fuzz/artifacts

# The report's charts: web/.
.PHONY: web web-check web-test web-picture
WEB_REPORT = target/web-report

web: ## build the report's script and style sheet from web/src
	@web/scripts/setup.sh
	@npm --prefix web run build --silent

web-check: ## check that the committed bundle of web/ is what its source gives
	@web/scripts/setup.sh
	@npm --prefix web run check --silent

web-test: ## look at a report and a scorecard in headless Chromium: a part of `make test`
	@scripts/setup.sh rust
	@web/scripts/test.sh

web-picture: build ## write docs/report.png anew
	@web/scripts/setup.sh chromium
	@rm -rf $(WEB_REPORT)
	@target/release/fanin compare scenarios/fixed-fragment.toml --schemes newreno,dctcp,newreno+m21 --fan-in 2,4,8,16,32,64,128 --out $(WEB_REPORT) >/dev/null
	@node web/scripts/picture.mjs $(WEB_REPORT)/report.html
