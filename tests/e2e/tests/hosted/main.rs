//! `sql/hosted.sql`, on servers without the library of the extension.

mod clocks;
mod crashes;
mod decoding;
mod load;
mod lock;
mod moving;
mod privileges;
mod stopped;

use std::fs;
use std::path::{Path, PathBuf};

use snowflake_e2e::{Cluster, ClusterBuilder, output};

/// What the script is given.
const IDENTITY: [&str; 4] = ["--set", "datacenter_id=5", "--set", "worker_id=9"];

/// Takes the advisory lock, as any role can.
const TAKE_LOCK: &str = "SELECT pg_advisory_lock(8317708120410055019)";

/// A server that loads no library.
fn plain_server() -> ClusterBuilder {
    Cluster::builder()
        .unset("snowflake.datacenter_id")
        .unset("snowflake.worker_id")
        .set("shared_preload_libraries", "")
}

/// Starts a server without the extension.
fn start_without(builder: ClusterBuilder) -> Cluster {
    let mut cluster = builder.create();
    cluster.start_again();
    cluster
}

/// Starts a server, and runs the script in database `postgres`.
fn start(builder: ClusterBuilder) -> Cluster {
    let cluster = start_without(builder);
    install(&cluster, "postgres", &script());
    cluster
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sql/hosted.sql")
}

fn install(cluster: &Cluster, database: &str, script: &Path) {
    let mut psql = cluster.client_program("psql");
    psql.args(["--no-psqlrc", "--quiet", "--dbname", database]).args(IDENTITY);
    output(psql.arg("--file").arg(script));
}

/// A table that lets an ID come twice, so that a test sees it.
fn create_orders(cluster: &Cluster) {
    let create = "CREATE TABLE orders (id bigint DEFAULT snowflake_nextval())";
    cluster.connect().batch_execute(create).expect("a table");
}

/// Runs the script with statements before others of it, as in a text of its own.
fn install_with(cluster: &Cluster, statements: &[(&str, String)]) {
    let mut text = fs::read_to_string(script()).expect("the script");
    for (before, statement) in statements {
        assert_eq!(text.matches(before).count(), 1, "{before}");
        text = text.replace(before, &format!("{statement}{before}"));
    }
    let path = cluster.directory().join("hosted.sql");
    fs::write(&path, text).expect("a directory to write to");
    install(cluster, "postgres", &path);
}
