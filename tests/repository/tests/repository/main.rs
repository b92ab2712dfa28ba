//! What only the files of the repository say: no server is needed, and no history.

mod addresses;
mod arrows;
mod commands;
mod comparison;
mod front_door;
mod links;
mod make_help;
mod named_tests;
mod runbook;
mod sql_files;
mod unguarded;
