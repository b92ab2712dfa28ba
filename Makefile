# Runs the scripts of tools/. PG_CONFIG=/path/to/pg_config chooses the server; without it, this is the newest supported
# one that is installed, or else the newest one that apt offers.

.PHONY: help all setup run test lint install uninstall deb image-root dist release test-release psql bench instructions latency test-fleet test-newcomer test-arm64 test-upgrade test-minors test-all test-clients mutants soak clean

throwaway = cargo run --quiet -p snowflake-e2e --bin throwaway --
bench = cargo run --quiet --release -p snowflake-bench --

help:
	@echo 'make setup         install what building, testing and checking need; run and test install what they need themselves'
	@echo 'make run           show what the extension does, on a throwaway cluster'
	@echo 'make test          run all tests'
	@echo 'make lint          check format, scripts, spelling, licenses, META.json, clippy and documentation'
	@echo 'make install       build and install the extension (PG_CONFIG, DESTDIR, FORCE=1)'
	@echo 'make uninstall     remove it again'
	@echo 'make deb           build a Debian package of it, below target/deb/ (PG_CONFIG)'
	@echo 'make image-root    build the tree of a container image of it, below target/image/ (PG_CONFIG)'
	@echo 'make dist          write the last commit as a distribution for PGXN, below target/'
	@echo 'make release       build these three and a tarball, for all servers that are found, below target/release-VERSION/'
	@echo 'make test-release  build the release twice, and install, upgrade and remove it in bare systems (as root; half an hour)'
	@echo 'make psql          open psql on a throwaway cluster with the extension'
	@echo 'make bench         measure what IDs cost, against other keys (a quarter of an hour; QUICK=1: a minute or two)'
	@echo 'make instructions  count the instructions of snowflake_nextval(); fails above its limit'
	@echo 'make latency       measure how long sessions wait (three minutes)'
	@echo 'make test-fleet    test failovers with Patroni that take minutes, and a billion IDs of a simulated fleet'
	@echo 'make test-newcomer make run and make test in a bare system, as root (SUITE=bookworm, trixie or sid; MACHINE, VERBS)'
	@echo 'make test-arm64    build for ARM64, and test in a bare system that runs under QEMU, as root (half an hour)'
	@echo 'make test-upgrade  test upgrades from the former release, which is built from the history'
	@echo 'make test-minors   test the library on the oldest minor release of the same version that the npm registry has'
	@echo 'make test-all      run all tests on every server that is found (a quarter of an hour each)'
	@echo 'make test-clients  test psycopg, SQLAlchemy, Alembic, Django, node-postgres, Drizzle, Prisma, Rails, pgx, and clients of Rust'
	@echo 'make soak HOURS=n  kill, promote and move clocks under load, and look for duplicates'
	@echo '                   (SYNCHRONOUS=with or without synchronous standbys; by default, both in turn)'
	@echo 'make mutants       break the rules one by one, switch the register off, and check that the tests notice'
	@echo 'make clean         remove everything that was built'

# The target that PGXN's client runs before install.
all:
	@tools/setup --check build
	@tools/install build

setup:
	@tools/setup all

run:
	@MAY_INSTALL=1 SETUP=run tools/on-server $(throwaway) demo

test:
	@MAY_INSTALL=1 tools/test

lint:
	@tools/lint

install:
	@tools/setup --check build
	@tools/install

uninstall:
	@tools/install uninstall

deb:
	@tools/setup --check build
	@tools/deb

image-root:
	@tools/setup --check build
	@tools/image-root

dist:
	@tools/dist

release:
	@tools/release

test-release:
	@tools/test-release

psql:
	@SETUP=run tools/on-server $(throwaway) psql

latency:
	@FEATURES=pg_bench ON_DISK=1 tools/on-server $(bench) latency

bench:
	@FEATURES=pg_bench ON_DISK=1 tools/on-server $(bench) $(if $(QUICK),quick target/bench/,full docs/)performance.svg

instructions:
	@tools/setup --check instructions
	@FEATURES=pg_bench tools/on-server $(bench) instructions

soak:
	@tools/on-server cargo run --quiet -p snowflake-e2e --bin soak -- $(or $(HOURS),1) $(SYNCHRONOUS) $(SEED)

mutants:
	@cargo run --quiet -p snowflake-mutants
	@tools/break-promises

test-fleet:
	@cargo run --release -p snowflake-simulation -- 1000000000
	@WITH_FLEET=1 tools/on-server cargo test -p snowflake-e2e --test fleet -- --ignored --show-output --test-threads=4

test-newcomer:
	@tools/test-newcomer $(or $(SUITE),trixie) $(or $(MACHINE),sudo) $(or $(VERBS),run test)

test-minors:
	@tools/test-minors

test-arm64:
	@tools/test-arm64

test-all:
	@tools/test-all

test-upgrade:
	@tools/test-upgrade

test-clients:
	@tools/test-clients

clean:
	cargo clean
