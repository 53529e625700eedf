# Ferry. `make help` lists what there is to do.

PREFIX ?= /usr/local
SWIFT ?= swift
# The backtracer can hang where a test crashes on purpose or a sanitizer runs.
export SWIFT_BACKTRACE = enable=no

.DEFAULT_GOAL := help
EXAMPLES = $(patsubst %/Package.swift,%,$(wildcard Examples/*/Package.swift))

.PHONY: help setup demo examples check test interface fuzz fuzz-bytes rosters simulate crash sanitize e2e ui remote transparency bench bench-documents bench-commands bench-instructions format lint docs build release \
	static package package-test walk install clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup:
	@Scripts/setup

demo: build ## Two devices, one shared folder: see it work
	FERRY="$$($(SWIFT) build --show-bin-path)/ferry" Examples/Demo/demo.sh

# Each is a package of its own, as an app's would be. They share a build folder, so that Ferry is built once for all. SwiftPM does not
# notice new files of a package that it finds by its path; without the plan it looks again.
examples: setup ## Build the example apps and run their tests
	@for example in $(EXAMPLES); do \
		echo "$$example"; rm -f Examples/.build/debug.yaml; \
		if [ -d "$$example/Tests" ]; then verb=test; else verb=build; fi; \
		$(SWIFT) $$verb --package-path "$$example" --scratch-path Examples/.build || exit; \
	done

check: setup ## Run the tests between two commits, some minutes' worth
	@Scripts/check

test: setup ## Run all tests, suite by suite, some at a time
	@Scripts/test

# A run of SEEDS histories over fixed schemas and as many over generated ones, from a first seed that differs every time.
SEEDS ?= 100000
fuzz: setup ## Play random histories until one fails (SEEDS=100000 FIRST=1 to choose them)
	FERRY_SEEDS=$(SEEDS) FERRY_FIRST_SEED=$(or $(FIRST),$(shell date +%s)0000) Scripts/test --filter RandomHistoryTests

rosters: setup ## Play random memberships by two implementations (SEEDS=100000 FIRST=1 to choose them)
	FERRY_SEEDS=$(SEEDS) FERRY_FIRST_SEED=$(or $(FIRST),$(shell date +%s)0000) Scripts/test \
		--filter 'testWhatSealingPromisesOfMembersHolds|testASecondImplementationFindsTheSameRosters'

# Of each kind of bytes from outside, for so many seconds; TARGETS="head segment" to choose.
SECONDS ?= 60
fuzz-bytes: setup ## Throw mutated files at every decoder (SECONDS=60 for each, TARGETS="head segment" to choose)
	@Scripts/fuzz-bytes "$(SECONDS)" $(TARGETS)

sanitize: setup ## Run tests under the address sanitizer, and those with threads under the thread sanitizer
	@Scripts/sanitize

# Without SEED: from a seed that differs every time.
STEPS ?= 40
simulate: setup ## Play simulated lives of a container until one fails (SEED=7 DEVICES=3 STEPS=40 for one of them, SEALED=1, PROVIDER=objectStorage)
	@$(SWIFT) build -c release --product ferry-simulate
	@"$$($(SWIFT) build -c release --show-bin-path)/ferry-simulate" --steps $(STEPS) \
		$(if $(SEED),--seed $(SEED),--seed $$(date +%s)000 --seeds $(or $(LIVES),0)) \
		$(if $(DEVICES),--devices $(DEVICES)) $(if $(PROVIDER),--provider $(PROVIDER)) $(if $(TRACE),--trace) \
		$(if $(SEALED),$(if $(filter 0,$(SEALED)),--open,--sealed))

# `make test` takes a part of the points. Here they are all taken, with each kind of loss.
crash: setup ## Fail and kill Ferry at every call that writes, all of them, for hours
	FERRY_CRASH_POINTS=1000000 FERRY_FAULT_CALLS=1000000 Scripts/test \
		--filter 'CrashPointTests|SealedCrashTests|SealedDatabaseCrashTests|RemoteContentCrashTests|SQLiteFaultTests|KilledProcessTests|PublicationCrashTests|FaultVFSTests'

e2e: setup ## Two devices and a real Syncthing, open and sealed: writers, cut connections, conflicted copies, a removal
	@Scripts/setup syncthing
	@$(SWIFT) build -c release --product ferry
	@python3 -B Tests/EndToEnd/syncthing.py "$$($(SWIFT) build -c release --show-bin-path)/ferry"
	@python3 -B Tests/EndToEnd/syncthing.py "$$($(SWIFT) build -c release --show-bin-path)/ferry" --sealed

# PICTURES=1 renews the pictures in Docs.
ui: ## Use the page of ferry ui in a headless Chromium: light, dark, a phone's width, by keyboard (PICTURES=1)
	@Scripts/setup chromium
	@$(SWIFT) build --product ferry
	@python3 -B Tests/Browser/story.py "$$($(SWIFT) build --show-bin-path)/ferry" $(if $(PICTURES),--pictures Docs/Pictures)

# Of so many rows, for the chapter about a large container.
ROWS ?= 100000
remote: ## A container in Ceph's gateway: watches, kill -9, outages, a thousand devices (ROWS=10000000 for a large one)
	@Scripts/setup radosgw ceph-mon ceph-osd rclone
	@$(SWIFT) build -c release --product ferry
	@python3 -B Tests/Remote/gateway_story.py "$$($(SWIFT) build -c release --show-bin-path)/ferry" $(ROWS)

# CORPUS is a folder of SQL scripts that other people wrote; OPTIONS="--keys --only trigger" chooses among them.
transparency: setup ## Run a folder of SQL scripts on a plain and on a tracked database (CORPUS=folder)
	@test -d "$(CORPUS)" || { echo "transparency: say CORPUS=folder, a folder of .sql files" >&2; exit 64; }
	@$(SWIFT) build -c release --product ferry
	@python3 -B Tests/Transparency/corpus.py "$$($(SWIFT) build -c release --show-bin-path)/ferry" "$(CORPUS)" $(OPTIONS)

# A target of the package that only FERRY_BENCHMARKS adds, with a build folder of its own (Package.swift).
bench: setup ## Measure Ferry beside plain SQLite (BENCH="--quick" for a short run)
	cd Benchmarks && FERRY_BENCHMARKS=1 $(SWIFT) run -c release --package-path .. --scratch-path .build FerryBenchmark $(BENCH)

bench-documents: setup ## Measure documents beside cp, rsync, restic and borg (BENCH="--quick" for a short run)
	$(SWIFT) build -c release --product ferry
	Scripts/bench-documents $(BENCH)

bench-commands: setup ## Measure small commands beside the sqlite3 shell (BENCH="--beside PATH" for another build as well)
	$(SWIFT) build -c release --product ferry
	Scripts/bench-commands $(BENCH)

# Noise does not change these counts. RENEW=1 writes them anew.
bench-instructions: ## Count the instructions of fixed work, and compare (RENEW=1)
	@Scripts/setup valgrind
	@Scripts/bench-instructions $(if $(RENEW),--renew)

format: ## Format the sources
	$(SWIFT) format --in-place --recursive --parallel Sources Tests Benchmarks/Sources Examples Package.swift

lint: ## Check the format, rooms, tables, names, shapes and inlining of the sources, and the names and sentences in Docs
	@Scripts/check-rooms
	@Scripts/check-tables
	@Scripts/check-names
	@Scripts/check-shapes
	@Scripts/check-inlining
	@Scripts/check-pages
	@Scripts/check-prose
	$(SWIFT) format lint --strict --recursive --parallel Sources Tests Benchmarks/Sources Examples Package.swift

interface: setup ## Hold what an app sees against Docs/Interface.txt (RENEW=1 to renew the list)
	@Scripts/interface $(if $(RENEW),--renew)

docs: setup ## Build the guide to the Swift package, with the reference of all that an app sees, into site/
	@Scripts/guide site

build: setup ## Build the ferry command for debugging
	$(SWIFT) build --product ferry

release: setup ## Build the ferry command for use
	$(SWIFT) build -c release --product ferry

static: ## Build the ferry command for any Linux with glibc, into .build-package/ferry
	@Scripts/setup binutils valgrind
	@Scripts/build-static .build-package/ferry

package: ## Make a Debian package and a tarball of the static build, in .build-package
	@Scripts/setup binutils valgrind xz-utils
	@Scripts/package

# BESIDE=.build/release/ferry measures another build in turns with the static one. Where a tool cannot be installed, the script says so.
package-test: ## Install and run the package and the tarball in a bare Debian (as root; SUITE=bookworm)
	@Scripts/setup binutils xz-utils debootstrap mount || echo "package-test: not all tools are there" >&2
	@Scripts/package-test $(if $(SUITE),--suite $(SUITE)) $(if $(BESIDE),--beside $(BESIDE))

walk: ## Walk through the package in a bare Debian and a Chromium, and compare with Docs/Walk.md (as root; RENEW=1)
	@Scripts/setup debootstrap mount chromium || echo "walk: not all tools are there" >&2
	@Scripts/walk $(if $(RENEW),--renew)

install: release ## Install the ferry command below PREFIX (/usr/local)
	install -d "$(DESTDIR)$(PREFIX)/bin"
	install -m 755 "$$($(SWIFT) build -c release --show-bin-path)/ferry" "$(DESTDIR)$(PREFIX)/bin/ferry"

clean: ## Remove what was built
	rm -rf .build .build-tests .build-address .build-thread .build-static .build-package site Benchmarks/.build Examples/*/.build
