# The verbs of the project. PG_CONFIG=/path/to/pg_config chooses the server (PostgreSQL 15 to 18); without it, the
# newest that is installed, or that apt offers, is taken.

.PHONY: help setup run test lint install uninstall psql bench instructions latency mutants soak clean

help:
	@echo 'make setup         install what building, testing and checking need; the only verb besides run and test that does'
	@echo 'make run           show what the extension does, on a throwaway cluster'
	@echo 'make test          run all tests'
	@echo 'make lint          check format, clippy and documentation'
	@echo 'make install       build and install the extension (PG_CONFIG, DESTDIR, FORCE=1)'
	@echo 'make uninstall     remove it again'
	@echo 'make psql          open psql on a throwaway cluster with the extension'
	@echo 'make bench         measure what IDs cost, against other keys (a quarter of an hour; QUICK=1: a minute or two)'
	@echo 'make instructions  count the instructions of snowflake_nextval()'
	@echo 'make latency       measure what sessions wait for (three minutes)'
	@echo 'make soak HOURS=n  kill, promote and move clocks under load, and look for duplicates'
	@echo 'make mutants       break the rules one by one, switch the register off, and see the tests notice'
	@echo 'make clean         remove everything that was built'

setup:
	@tools/setup all

run:
	@MAY_INSTALL=1 tools/throwaway demo

test:
	@MAY_INSTALL=1 tools/test

lint:
	@tools/lint

install:
	@tools/setup --check build
	@tools/install

uninstall:
	@tools/install uninstall

psql:
	@tools/throwaway psql

latency:
	@tools/bench latency

bench:
	@tools/bench $(if $(QUICK),quick,full)

instructions:
	@tools/instructions

soak:
	@tools/soak $(or $(HOURS),1) $(SEED)

mutants:
	@cargo run --quiet -p snowflake-mutants
	@tools/break-promises

clean:
	cargo clean
