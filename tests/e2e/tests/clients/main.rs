//! Programs of users: real clients of PostgreSQL, each with a program of `tests/clients/`, and what
//! the programs say is compared with the tables. `tools/test-clients` installs the clients.

mod alembic;
mod blog;
mod django;
mod doubles;
mod go;
mod javascript;
mod partman;
mod perl;
mod php;
mod program;
mod public_ids;
mod python;
mod repack;
mod ruby;
mod rust;
