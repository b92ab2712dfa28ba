//! Snowflake IDs for PostgreSQL: 64-bit, time-ordered, unique across servers.
//!
//! Data flows one way: SQL function -> `generate` -> `shared` (spinlock) -> `snowflake_core` decides -> ID. Only
//! when the core says "beyond the reservation" does the flow take the side door to `reservation`.
//!
//! - `settings`: every `snowflake.*` setting, and what is fixed at server start: layout and identity.
//! - `shared`: the generator in shared memory, behind a spinlock.
//! - `clock`: reading the wall clock, and waiting for it.
//! - `generate`: `snowflake_nextval` and friends.
//! - `reservation`: raising the floor ahead of use: the durable promise behind each ID.
//! - `register`: the WAL-logged page that holds the promise.
//! - `floor`: what an administrator can see and set of it.
//! - `decode`: from an ID to its parts and back.
//! - `range`: from times to the range of IDs that they bound.
//! - `text`: JSON, and a short text.
//! - `time`: PostgreSQL's times and ours.
//! - `status`: what has happened, and how things stand.
//! - `convert`: from serial and identity columns, and back.
//! - `catalog`: queries to the catalog, and statements.
//! - `error`: every error that a user can see; `report`: how it reaches PostgreSQL; `encoding`: texts of the database.

use pgrx::prelude::*;

#[cfg(feature = "pg_bench")]
mod benches;
mod catalog;
mod clock;
mod convert;
mod decode;
mod encoding;
mod error;
mod floor;
mod generate;
mod range;
mod register;
mod report;
mod reservation;
mod settings;
mod shared;
mod status;
#[cfg(any(test, feature = "pg_test"))]
mod tests;
mod text;
mod time;

pg_module_magic!(name, version);

extension_sql_file!("../sql/types.sql", name = "types", bootstrap);
extension_sql_file!(
    "../sql/surface.sql",
    name = "surface",
    requires = [
        generate::snowflake_nextval,
        range::snowflake_within_min,
        range::snowflake_within_max,
        status::snowflake_stat,
        status::snowflake_stat_reset,
        status::snowflake_status,
    ]
);
extension_sql_file!("../sql/comments.sql", name = "comments", finalize);

/// Called by PostgreSQL when the library is loaded.
#[pg_guard]
pub extern "C-unwind" fn _PG_init() {
    // SAFETY: a plain variable of the server.
    let preloading = unsafe { pg_sys::process_shared_preload_libraries_in_progress };
    report::init();
    settings::init(preloading);
    if preloading {
        shared::init();
        register::init();
        reservation::init();
        clock::boot();
        status::log_the_ends();
    }
}

/// Required by `cargo pgrx test`.
#[cfg(test)]
pub mod pg_test {
    /// Called once, before the tests.
    pub fn setup(_options: Vec<&str>) {}

    /// The settings of the server that the tests run in.
    pub fn postgresql_conf_options() -> Vec<&'static str> {
        vec![
            "shared_preload_libraries = 'snowflake_pg'",
            "snowflake.datacenter_id = 5",
            "snowflake.worker_id = 9",
            "timezone = 'UTC'",
        ]
    }
}
