//! Real PostgreSQL clusters for tests: each in a directory of its own, reached through a socket in
//! it.
//!
//! The server is the private copy that `tools/setup test` made and `tools/install` installed the
//! extension into; the environment variable `SNOWFLAKE_PG_CONFIG` names its `pg_config`. A cluster
//! is stopped and removed when its [`Cluster`] is dropped, and its server goes down when the test
//! process dies.

mod builder;
mod clock;
mod cluster;
mod deaf_client;
mod directory;
mod dump;
mod everything;
mod fleet;
mod http;
mod ids;
mod journal;
mod means;
mod members;
mod orders;
mod programs;
mod query;
mod register;
mod repack;
mod run;
mod script;
mod seed;
mod subscription;
mod threads;
mod wait;

pub use builder::ClusterBuilder;
pub use clock::{clock_of_file, set_clock_of_file};
pub use cluster::Cluster;
pub use deaf_client::DeafClient;
pub use directory::{create_directory, give_to_server_user, new_directory};
pub use dump::{Dump, dump_and_restore, dump_text};
pub use everything::{call_everything, calls_of};
pub use fleet::{
    Service, fleet_program, fleet_program_path, free_port, listening_ports, new_password,
    publishing, server_with,
};
pub use http::{Request, http_get};
pub use ids::{assert_distinct, assert_increasing};
pub use journal::Journal;
pub use means::{Means, lacks, skip, skip_test, without_network};
pub use members::Members;
pub use orders::{INSERT, assert_rows, create_orders};
pub use programs::{
    Programs, Stopped, as_server_user, is_root, kill_server, output, put_first, signal,
    under_host_name,
};
pub use query::{
    NEXT, PARALLEL, PARALLEL_SAFE, Run, archive_wal, assert_check, bigint, bigints, check,
    error_of, explain, interruption, process, refusal, seconds_after, value,
};
pub use register::Register;
pub use repack::repack_under_inserts;
pub use run::{failing, values};
pub use script::hosted_script;
pub use seed::seed;
pub use threads::{StopOnDrop, at_once, beside, meanwhile};
pub use wait::{eventually, patience, within};
