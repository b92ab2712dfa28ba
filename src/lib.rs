//! Snowflake IDs for PostgreSQL: 64-bit, time-ordered, unique across servers.
//!
//! Data flows one way: SQL function -> `generate` -> `generator` (spinlock) -> `snowflake_core`
//! decides -> ID. When the core asks for a reservation, the call goes to `promise`.
//!
//! So do the arrows between rooms: each uses only those that stand below it here. The test
//! `no_circle_between_files` finds an arrow that leads back.
//!
//! - `operate`: for those who operate the server: its check, its views, floors and confirmations.
//! - `keys`: keys of tables: those of new tables, and COPY at the price of a free key.
//! - `fleet`: servers beside this one: their IDs, their identities, and layouts in dumps.
//! - `decode`: from IDs to what they mean, and back: parts, ranges, text and JSON.
//! - `horizon`: an ID up to which no row can still appear, and who holds it back.
//! - `generate`: the SQL functions that take IDs: `snowflake_nextval` and friends.
//! - `public`: names of IDs for the outside, and the keys to make and read them.
//! - `promise`: the durable promise behind each ID: the register and reservations.
//! - `generator`: the generator in shared memory, its spinlock and its clock, and the horizon's
//!   slots.
//! - `settings`: every `snowflake.*` setting, and what is fixed at server start.
//! - `pg`: the parts of PostgreSQL that all of these need.

use pgrx::prelude::*;

#[cfg(feature = "pg_bench")]
mod benches;
mod decode;
mod fleet;
mod generate;
mod generator;
mod horizon;
mod keys;
mod operate;
mod pg;
mod promise;
mod public;
mod settings;
#[cfg(any(test, feature = "pg_test"))]
mod tests;

use fleet::{observe, twins};
use generator::{clock, shared};
use horizon::transaction_end;
use keys::utility;
use operate::status;
use pg::memory;
use promise::{register, reservation, restored_copy, standby_worker, upstream};

pg_module_magic!(name, version);

extension_sql_file!("../sql/types.sql", name = "types", bootstrap);
extension_sql_file!(
    "../sql/surface.sql",
    name = "surface",
    requires = [
        decode::range::snowflake_within_min,
        decode::range::snowflake_within_max,
        status::snowflake_stat,
        status::snowflake_stat_observations_refused,
        status::snowflake_stat_reset,
        status::snowflake_status,
        horizon::holders::snowflake_horizon_held,
        operate::check::snowflake_check,
        "observe_rows",
    ]
);
// SQL that needs no function of Rust names the SQL before it. Otherwise, pgrx would write it
// anywhere, and two builds would not give the same script.
extension_sql_file!("../sql/internal.sql", name = "internal");
extension_sql_file!(
    "../sql/nodes.sql",
    name = "nodes",
    requires = ["internal", fleet::nodes::snowflake_guard_claims]
);
extension_sql_file!(
    "../sql/layout.sql",
    name = "layout",
    requires = ["nodes", fleet::database_layout::snowflake_guard_layout, status::snowflake_status]
);
extension_sql_file!("../sql/privileges.sql", name = "privileges", requires = ["nodes", "layout"]);
extension_sql_file!("../sql/printed.sql", name = "printed", requires = ["privileges", "surface"]);
extension_sql_file!(
    "../sql/conversion.sql",
    name = "conversion",
    requires = ["printed", "nextval", decode::range::snowflake_within_min]
);
extension_sql_file!("../sql/reversion.sql", name = "reversion", requires = ["conversion"]);
extension_sql_file!("../sql/comments.sql", name = "comments", finalize);

/// Called by PostgreSQL when the library is loaded.
#[pg_guard]
pub extern "C-unwind" fn _PG_init() {
    memory::prepare();
    // SAFETY: a plain variable of the server.
    let preloading = unsafe { pg_sys::process_shared_preload_libraries_in_progress };
    settings::init(preloading);
    utility::init();
    if preloading {
        shared::init();
        register::init();
        reservation::init();
        transaction_end::init();
        observe::init();
        twins::init();
        upstream::init();
        restored_copy::init();
        standby_worker::init();
        public::init();
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
            "unix_socket_permissions = 0700",
        ]
    }
}
