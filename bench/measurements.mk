# Measurements, long tests, and maintenance of their records. `make measurements` lists them; bench/README.md explains them.

.PHONY: measurements cost-functions digests-update cost-update bench bench-against bench-htsim bench-cores bench-scale bench-python bench-python-first bench-python-laws bench-python-paper bench-python-faults bench-tree bench-roles bench-requests bench-placement torture linux-validate linux-check linux-instant linux-instant-record linux-instant-judge packetdrill packetdrill-kernel advise-lines advise-check advise-check-slow advise-bench advise-papers validate-check diagnose-bench diagnose-check diagnose-kernel diagnose-corpus diagnose-scenarios diagnose-tshark estimates fuzz-check memcached-alone conformance differential bench-front bench-front-against bench-delays bench-grants bench-windows bench-settings bench-loops bench-agents soak-agents claims-on-sockets siege hunger sanitize test-crowded web-check web-test web-picture advise-agrees sensitivity cost digests validate soak failover testbed-check testbed-requests testbed-kernel testbed-kill kernel-objects kernel-churn watch-bursts watch-causes watch-churn bench-limit-cost bench-limit grants-programs testbed-grants grants-pairs

measurements: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' bench/measurements.mk | awk -F'|' '{printf "make %-22s %s\n", $$1, $$2}'

cost: build ## count instructions per data packet, against bench/cost.json
	@scripts/setup.sh valgrind
	@python3 scripts/cost.py

# With the debug information that the lists need.
cost-functions: export CARGO_PROFILE_RELEASE_DEBUG = line-tables-only
cost-functions: build ## list instructions per packet by function
	@scripts/setup.sh valgrind
	@python3 scripts/cost.py --functions

digests: build ## compare digests of all tables of the bundled scenarios with bench/digests.json
	@python3 scripts/digests.py

digests-update: build ## rewrite bench/digests.json
	@python3 scripts/digests.py --update

estimates: ## compare forecasts of time and memory with the cost of runs, at 64 to 4,096 hosts (SCHEMES: some schemes)
	@cargo build --quiet --release --locked --package fanin --example estimate
	@python3 bench/estimates.py $(SCHEMES)

cost-update: build ## rewrite bench/cost.json
	@scripts/setup.sh valgrind
	@python3 scripts/cost.py --update

bench: build ## compare speed with ns-3 (installs ns-3; minutes)
	@python3 bench/run.py

bench-against: build ## compare speed with the engine of another commit, REV; gives no verdict
	@python3 bench/drift.py $(if $(REV),--rev $(REV))

bench-htsim: build ## compare speed with csg-htsim, built from HTSIM=/path/to/csg-htsim
	@scripts/setup.sh htsim
	@python3 bench/htsim.py $(if $(HTSIM),"$(HTSIM)")

bench-cores: build ## compare a shuffle among 1,000 hosts on two cores and one
	@python3 bench/cores.py

bench-scale: build ## how time and memory grow, from 128 hosts on (docs/scaling.md)
	@python3 bench/scale.py

bench-python: build ## compare 5,000 short runs on a Dask cluster with local threads; build a frame of a million rows
	@scripts/python.sh build
	@target/python/tools/bin/python bench/python/cluster.py
	@target/python/tools/bin/python bench/python/frame.py

bench-python-first: build ## measure the time from import to a first result
	@scripts/python.sh build
	@target/python/tools/bin/python bench/python/first.py

bench-python-laws: ## measure the cost of an algorithm in Python against Rust, on work B
	@scripts/python.sh build
	@target/python/tools/bin/python bench/python/laws.py

bench-python-paper: build ## compare quick verdicts of PAPER (m21) on a Dask cluster with local ones
	@scripts/python.sh build
	@target/python/tools/bin/python bench/python/paper.py --paper $(or $(PAPER),m21)

bench-python-faults: ## kill a worker in each of SWEEPS (20) sweeps on a Dask cluster; tables must not change
	@scripts/python.sh build
	@target/python/tools/bin/python bench/python/faults.py --sweeps $(or $(SWEEPS),20)

bench-tree: ## measure the time to form swarms and their tree (S-10)
	@scripts/setup.sh rust
	@cargo bench --quiet --locked --package fanin-fanout --bench tree

bench-roles: ## measure the time per message of front end, hub and data server
	@scripts/setup.sh rust
	@cargo bench --quiet --locked --package fanin-roles --bench roles

bench-requests: ## measure memory and time of a request for 1,000 objects on 150,000 servers
	@scripts/setup.sh rust
	@cargo bench --quiet --locked --package fanin-simulate-tests --bench requests

sensitivity: build ## rewrite papers/*/sensitivity.json and .md (hours; resumes)
	@target/release/fanin reproduce all --sensitivity

bench-placement: build ## compare plans with mt-KaHyPar's and METIS's on twenty logs (an hour), and measure planning times
	@scripts/setup.sh rust
	@scripts/partitioners.sh
	@target/placement/venv/bin/python bench/placement/run.py
	@python3 bench/placement/large.py
	@cargo bench --quiet --locked --package fanin-placement --bench plan
	@cargo test --quiet --locked --package fanin-placement --test placement -- --ignored --nocapture

torture: ## run CASES (10000) random schedules of faults, requests and moves from FIRST (1000), and SCENARIOS (2000) random scenarios
	@scripts/setup.sh rust
	CASES=$(or $(CASES),10000) FIRST=$(or $(FIRST),1000) cargo test --quiet --locked --package fanin-simulate-tests --test all fault_schedules:: -- --ignored --nocapture
	@cargo test --quiet --locked --package fanin-simulate-tests --test all sawtooth:: -- --ignored
	CASES=$$(( $(or $(CASES),10000) * 34 )) FIRST=$(or $(FIRST),1000) cargo test --quiet --locked --package fanin-daemon --test all -- machine::any_event machine::crashes machine::wrong --nocapture
	CASES=$(or $(CASES),10000) FIRST=$(or $(FIRST),1000) cargo test --quiet --locked --package fanin-daemon --test all -- machine::any_bytes machine::plans --nocapture
	CASES=$$(( $(or $(CASES),10000) * 34 / 10 )) FIRST=$(or $(FIRST),1000) cargo test --quiet --locked --package fanin-daemon --test all -- machine::failover --nocapture
	CASES=$(or $(CASES),10000) FIRST=$(or $(FIRST),1000) cargo test --quiet --locked --package fanin-daemon --test all -- machine::agents --nocapture
	@cargo build --quiet --release --locked --package fanin-cli
	@python3 bench/verdicts.py --cases $(or $(SCENARIOS),2000) --first $(or $(FIRST),1000)

linux-validate: ## measure Linux's table in an emulated machine (an hour of a core): bench/reference/linux-servers-6.1.json
	@scripts/setup.sh rust
	@python3 bench/linux/record.py

linux-check: build ## compare three random points (SEED) with a real kernel
	@python3 bench/linux/check.py --seed $(or $(SEED),1)

linux-instant: ## run SCENARIO on User-mode Linux 6.12 with an infinitely fast processor (builds it first)
	@scripts/setup.sh rust
	@python3 bench/linux/instant.py $(or $(SCENARIO),bench/scenarios/linux-instant.toml)

linux-instant-record: ## record a grid of points on that kernel (40 minutes of a core; resumes)
	@scripts/setup.sh rust
	@python3 bench/linux/record_instant.py

linux-instant-judge: build ## compare fanin with that record: goodput, p99 and verdict
	@python3 bench/linux/judge_instant.py

packetdrill: ## run packetdrill's scripts below SUITE against the endpoint: a verdict for each, and a table by folder
	@scripts/setup.sh rust
	@cargo run --quiet --release --locked --package fanin-assemble --example packetdrill -- suite $(or $(SUITE),crates/scenario/assemble/tests/packetdrill)

packetdrill-kernel: ## compare the endpoint with this machine's kernel, segment by segment, over SEEDS (1..40) of random paths of each kind (root; minutes)
	@scripts/setup.sh rust
	@cargo build --quiet --release --locked --package fanin-assemble --example packetdrill
	@python3 bench/packetdrill/kernel.py --seeds $(or $(SEEDS),1..40) $(if $(KINDS),--kinds $(KINDS)) $(if $(KEEP),--keep $(KEEP)) $(if $(JSON),--json $(JSON))

advise-lines: build ## run the commands of `fanin advise` for Linux and SONiC in network namespaces (needs root)
	@python3 bench/advise/lines.py

advise-check: build ## apply the first remedy for ten random clusters (SEED) on Linux 6.12 in time travel; compare gain and prediction (minutes)
	@python3 bench/linux/advise_instant.py --seed $(or $(SEED),1)

advise-check-slow: build ## apply the first remedy for two slow clusters (SEED) on Linux 6.1 in an emulated machine
	@python3 bench/linux/advise.py --seed $(or $(SEED),1)

advise-bench: build ## compare the first remedy with a grid search on 24 random clusters or SEEDS (an hour or two; resumes)
	@python3 bench/advise/clusters.py $(SEEDS)

advise-agrees: build ## compare the state in the advice with the saved scenario's, for 50 random clusters or CLUSTERS from FIRST on (minutes)
	@python3 bench/advise/agrees.py --clusters $(or $(CLUSTERS),50) --first $(or $(FIRST),1)

bench-grants: build ## compare granted windows with the best fixed window and ICTCP: clusters of advise-check, senders, round trips, buffers (minutes)
	@python3 bench/advise/grants.py

advise-papers: build ## rewrite docs/advised.md: advice on the papers' settings (minutes)
	@python3 bench/advise/papers.py

validate: build ## rewrite docs/validation.md (a minute or two)
	@python3 bench/validate.py

validate-check: build ## check that docs/validation.md is current
	@python3 bench/validate.py --check

diagnose-bench: build ## measure accuracy of `fanin diagnose` on random scenarios, and its speed
	@python3 bench/diagnose/measure.py --cases $(or $(CASES),30) --first $(or $(FIRST),1) --speed 1

diagnose-kernel: build ## diagnose captures of an emulated kernel at random points (SEED)
	@python3 bench/diagnose/kernel.py --seed $(or $(SEED),1) --keep $$(mktemp -d)/kernel

diagnose-check: build ## make 60 captures of this machine's kernel with their causes, 20 of them drawn anew (FIRST prints), and judge `fanin diagnose` by them (10 minutes, root)
	@folder=$${FOLDER:-$$(mktemp -d)}; first=$${FIRST:-$$(($$(od -An -N3 -tu4 /dev/urandom) + 100000))}; echo "captures: $$folder, new ones from FIRST=$$first"; \
		python3 bench/diagnose/corpus/corpus.py --first 9101 --count 40 --out $$folder && python3 bench/diagnose/corpus/corpus.py --first $$first --count 20 --out $$folder && \
		python3 bench/diagnose/corpus/judge.py $$folder --verbose

diagnose-corpus: build ## make COUNT captures of this machine's kernel with their causes from FIRST on, and judge `fanin diagnose` by them (35 minutes, root)
	@scripts/setup.sh capture
	@folder=$${FOLDER:-$$(mktemp -d)}; echo "captures: $$folder"; python3 bench/diagnose/corpus/corpus.py --first $(or $(FIRST),2001) --count $(or $(COUNT),300) --out $$folder && \
		python3 bench/diagnose/corpus/judge.py $$folder --verbose

diagnose-scenarios: build ## judge the scenarios that `fanin diagnose` offers for the captures in FOLDER, which `make diagnose-corpus` made
	@python3 bench/diagnose/corpus/scenarios.py $(FOLDER)

diagnose-tshark: build ## compare counts of `fanin diagnose` with tshark's
	@scripts/setup.sh tshark
	@python3 bench/diagnose/tshark.py

fuzz-check: ## check that the fuzzers compile
	@scripts/setup.sh rust
	@cargo check --quiet --locked --manifest-path fuzz/Cargo.toml --target-dir target/fuzz

memcached-alone: ## show two properties of memcached without a front end: old requests executed late, and pipelines with TLS that wait
	@scripts/setup.sh memcached
	@python3 bench/memcached_alone.py

conformance: build ## run clients' own test suites against memcached and `fanin front`
	@scripts/setup.sh memcached
	@python3 bench/conformance.py

differential: build ## send the same random bytes to memcached and to `fanin front` in each form, for SECONDS (60), and compare
	@scripts/setup.sh memcached
	@for form in plain tls next replicas reloads; do python3 bench/differential.py --form $$form --seconds $(or $(SECONDS),60) || exit 1; done

bench-front: build ## compare `fanin front` with nutcracker: CPU, latency, memory
	@scripts/setup.sh memcached nutcracker
	@cargo build --quiet --release --locked --package fanin-daemon --example load
	@python3 bench/front.py --idle

bench-front-against: build ## compare CPU per key with another build, OTHER=/path/to/fanin; gives no verdict
	@scripts/setup.sh memcached
	@cargo build --quiet --release --locked --package fanin-daemon --example load
	@python3 bench/front_against.py "$(OTHER)"

bench-delays: build ## compare latency by `batching_delay` and nutcracker's: idle, beside busy processes, and under a quota (needs root)
	@scripts/setup.sh memcached nutcracker
	@cargo build --quiet --release --locked --package fanin-daemon --example load
	@python3 bench/delays.py

bench-limit: build ## compare limiters on GETs from nginx and multigets from memcached, with predictions, in namespaces (needs root, Go, nginx and memcached)
	@python3 bench/limit/nginx.py
	@python3 bench/limit/multiget.py

bench-limit-cost: ## measure the cost of a request under a limit, in Rust
	@scripts/setup.sh rust
	@cargo bench --locked --package fanin-limit

bench-windows: build ## compare concurrency limits of `fanin front` with predictions, in namespaces (needs root)
	@scripts/setup.sh memcached
	@python3 bench/windows.py

bench-settings: build ## measure the cost of multiget scheduling and of a log with slow servers
	@scripts/setup.sh memcached
	@cargo build --quiet --release --locked --package fanin-daemon --example load
	@python3 bench/settings.py

bench-loops: build ## measure the cost of event loops: epoll, io_uring and tokio relays, `fanin front`, nutcracker
	@scripts/setup.sh memcached nutcracker
	@cargo build --quiet --release --locked --package fanin-daemon --example load
	@cargo build --quiet --release --locked --manifest-path bench/relay/Cargo.toml
	@python3 bench/loops.py

bench-agents: build ## measure the CPU of agents for a key, and what 10,000 connections that never greet cost one
	@scripts/setup.sh memcached
	@python3 bench/agents.py cost
	@python3 bench/agents.py strangers

testbed-check: build ## hold `fanin testbed` against predictions at 24 random points of SEED (1), on MACHINE (here)
	@python3 bench/testbed_check.py --seed $(or $(SEED),1) --machine $(or $(MACHINE),here)

testbed-requests: build ## hold algorithms of key-value requests by `fanin testbed` against predictions, on MACHINE (here), with SEEDS (3); MEMCACHED=1: by real programs
	@python3 bench/testbed_requests.py --machine $(or $(MACHINE),here) --seeds $(or $(SEEDS),3) $(if $(MEMCACHED),--memcached)

testbed-kernel: build kernel ## hold gentle slow start and M21 by `fanin-kernel` against predictions (KIND=gss|m21, SEEDS=3), as root
	@python3 bench/kernel_testbed.py --kind $(or $(KIND),gss) --seeds $(or $(SEEDS),3)

testbed-kill: build ## kill `fanin testbed` KILLS (10) times at random moments and look for what is left
	@scripts/setup.sh memcached
	@python3 bench/testbed_kill.py --kills $(or $(KILLS),10)

kernel-objects: ## rebuild the BPF objects in crates/system/kernel/objects; needs clang-16, llvm-16 and libbpf's headers
	@crates/system/kernel/build-objects.sh

kernel-churn: kernel ## load, unload, try and kill `fanin kernel` under traffic for MINUTES (60), as root, and look for warnings and remains
	@python3 bench/kernel_churn.py --minutes $(or $(MINUTES),60) --seed $(or $(SEED),1) --what $(or $(WHAT),both)

watch-bursts: kernel ## hold `fanin watch` against known bursts in network namespaces, as root
	@python3 bench/watch_bursts.py

watch-causes: build kernel ## compare waits and saved bursts of `fanin watch` with diagnoses of full captures (FIRST=1, COUNT=20), as root
	@python3 bench/watch_causes.py --first $(or $(FIRST),1) --count $(or $(COUNT),20)

watch-churn: kernel ## start and kill `fanin watch` under connections that come and go for MINUTES (60), as root, and look for leaks and remains
	@python3 bench/watch_churn.py --minutes $(or $(MINUTES),60) --seed $(or $(SEED),1)

grants-programs: kernel ## hold memcached, nginx and iperf3 against incast with and without granted windows, at a port of RATE_MBIT (100), as root
	@python3 bench/grants_programs.py --rate-mbit $(or $(RATE_MBIT),100)

grants-pairs: kernel ## compare rounds with granted windows off and on in turn on this machine's kernel, by senders, sizes and buffers, as root
	@python3 bench/grants_pairs.py

testbed-grants: build kernel ## measure granted windows at ten random clusters (SEED) on this machine beside their prediction, as root
	@python3 bench/testbed_grants.py --seed $(or $(SEED),1)

claims-on-sockets: build ## judge the claims about the testbeds of SICC and PICC over sockets, on MACHINE (instant); about an hour
	@python3 bench/claims_on_sockets.py --paper sicc --machine $(or $(MACHINE),instant)
	@python3 bench/claims_on_sockets.py --paper picc --machine $(or $(MACHINE),instant) $(if $(MEMCACHED),--memcached)

soak: build ## run `fanin front` under load with faults, reloads and hand-overs for SECONDS (3600)
	@scripts/setup.sh memcached
	@python3 bench/soak.py --seconds $(or $(SECONDS),3600)

.PHONY: actions-on-sockets
actions-on-sockets: build ## carry out random sequences of an operator's actions on the real front end, memcached and agents, for MINUTES (10), from SEED
	@scripts/setup.sh memcached
	@python3 bench/actions.py --minutes $(or $(MINUTES),10) $(if $(SEED),--seed $(SEED))

failover: build ## kill, stop, slow and cut off servers of `fanin front` FAULTS (500) times
	@scripts/setup.sh memcached
	@python3 bench/failover.py --faults $(or $(FAULTS),500)

soak-agents: build ## read through hubs for SECONDS (3600) while agents are killed and a planner moves keys
	@scripts/setup.sh memcached
	@python3 bench/agents.py soak --seconds $(or $(SECONDS),3600)

siege: build ## attack `fanin front` with hostile servers, CASES (200000) in memory, and clients for SECONDS (1800)
	@scripts/setup.sh rust memcached
	CASES=$(or $(CASES),200000) FIRST=$(or $(FIRST),1000) cargo test --quiet --locked --package fanin-daemon --test all machine::wrong_responses -- --nocapture
	@python3 bench/siege.py --seconds $(or $(SECONDS),1800)

hunger: build ## attack `fanin front` with clients and servers that exhaust memory, with a budget of 64 MiB
	@scripts/setup.sh memcached
	@python3 bench/hunger.py

sanitize: ## run the ring's tests under AddressSanitizer (nightly)
	@scripts/setup.sh fuzz
	@scripts/sanitize.sh

test-crowded: ## run the Rust tests RUNS (10) times beside BUSY (14) busy processes and another copy of themselves (COPIES=2); hours
	@scripts/setup.sh rust
	@python3 bench/crowded.py --runs $(or $(RUNS),10) --busy $(or $(BUSY),14) --copies $(or $(COPIES),2) -- $(or $(TESTS),--workspace)

web-check: ## check that the web bundle is current
	@web/scripts/setup.sh
	@npm --prefix web run check --silent

web-test: ## test a report and a scorecard in headless Chromium (part of `make test`)
	@scripts/setup.sh rust
	@web/scripts/test.sh

web-picture: build ## rewrite docs/report.png
	@web/scripts/setup.sh chromium
	@rm -rf $(WEB_REPORT)
	@target/release/fanin compare scenarios/fixed-fragment.toml --schemes newreno,dctcp,newreno+m21 --fan-in 2,4,8,16,32,64,128 --out $(WEB_REPORT) >/dev/null
	@node web/scripts/picture.mjs $(WEB_REPORT)/report.html
