//! Programs of users: real clients of PostgreSQL, each with a program of `tests/clients/`, and what
//! the programs say is compared with the tables. `tools/test-clients` installs the clients.

mod blog;
mod django;
mod doubles;
mod first_migration;
mod javascript;
mod orders;
mod other_name;
mod partman;
mod php;
mod program;
mod public_ids;
mod readers;
mod repack;
mod sequences;
mod sqlalchemy;
