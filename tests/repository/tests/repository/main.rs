//! Tests of the files of the repository: no server is needed, and no history.

mod addresses;
mod arrows;
mod commands;
mod figures;
mod glossary;
mod links;
mod make_help;
mod promises;
mod runbook;
mod sql_files;
mod unguarded;
