# Runs the scripts of tools/. PG_CONFIG=/path/to/pg_config chooses the server; without it, this is the newest supported
# one that is installed, or else the newest one that apt offers.

.PHONY: help all setup run test lint schema install uninstall deb rpm image-root dist release test-release test-reproducible results psql bench instructions latency test-fleet test-newcomer test-arm64 test-upgrade test-minors test-postgresql test-all test-clients mutants soak clean

bench = cargo run --quiet --profile program -p snowflake-bench --
# The amount of measuring, and the directory of pictures.
effort = $(if $(QUICK),quick target/bench,full docs)

# Prints the table of CONTRIBUTING.md, which says what each target does, without its marks.
help:
	@awk -F ' [|] ' '/^Target [|]/, /^$$/ { if (sub(/^`make/, "make")) { gsub(/`/, ""); printf "%-24s%s\n", $$1, $$2 } }' CONTRIBUTING.md

# The target that PGXN's client runs before install.
all:
	@tools/setup --check build
	@tools/install build

setup:
	@tools/setup all

run:
	@MAY_INSTALL=1 SETUP=run tools/throwaway demo

test:
	@MAY_INSTALL=1 tools/test

lint:
	@tools/lint

schema:
	@tools/schema

install:
	@tools/setup --check build
	@tools/install

uninstall:
	@tools/install uninstall

deb:
	@tools/setup --check build
	@tools/deb

rpm:
	@tools/setup --check build
	@tools/rpm

image-root:
	@tools/setup --check build
	@tools/image-root

dist:
	@tools/dist

release:
	@tools/release

test-release:
	@tools/test-release

test-reproducible:
	@tools/test-reproducible

results:
	@tools/results "$(ONLY)"

psql:
	@SETUP=run tools/throwaway psql

latency:
	@FEATURES=pg_bench ON_DISK=1 WITH_FORMER=1 tools/on-server $(bench) latency $(effort)

bench:
	@FEATURES=pg_bench ON_DISK=1 WITH_FORMER=1 tools/on-server $(bench) $(or $(ONLY),all) $(effort)

instructions:
	@tools/setup --check instructions
	@FEATURES=pg_bench tools/on-server $(bench) instructions $(effort)

soak:
	@tools/on-server cargo run --quiet -p snowflake-e2e --bin soak -- $(or $(HOURS),1) $(SYNCHRONOUS)

mutants:
	@set -e; for list in $(or $(ONLY),core promises shell); do tools/break-rules $$list; done
	@$(if $(ONLY),,tools/mutants)

test-fleet:
	@cargo run --profile program -p snowflake-simulation -- 1000000000
	@WITH_FLEET=1 tools/on-server cargo test -p snowflake-e2e --test fleet -- --ignored --show-output --test-threads=4

test-newcomer:
	@tools/test-newcomer $(or $(SUITE),trixie) $(or $(MACHINE),sudo) $(or $(VERBS),run test)

test-minors:
	@tools/test-minors

test-postgresql:
	@tools/test-postgresql

test-arm64:
	@tools/test-arm64

test-all:
	@tools/test-all

test-upgrade:
	@tools/test-upgrade

test-clients:
	@tools/test-clients

clean:
	@tools/clean
