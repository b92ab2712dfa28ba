//! `sql/hosted.sql`, on servers without the library of the extension.

mod clocks;
mod crashes;
mod decoding;
mod load;
mod lock;
mod moving;
mod pg_tle;
mod privileges;
mod script;
mod stopped;

use snowflake_e2e::{Cluster, ClusterBuilder, hosted_script};

/// Takes the advisory lock, as any role can.
const TAKE_LOCK: &str = "SELECT pg_advisory_lock(8317708120410055019)";

/// A server that loads no library.
fn plain_server() -> ClusterBuilder {
    Cluster::builder().without_identity().set("shared_preload_libraries", "")
}

/// Starts a server, and runs the script in database `postgres`.
fn start(builder: ClusterBuilder) -> Cluster {
    let cluster = builder.start_bare();
    install(&cluster, "postgres");
    cluster
}

/// The script with an identity.
fn script() -> String {
    hosted_script("5", "9")
}

fn install(cluster: &Cluster, database: &str) {
    cluster.run_in(database, &script());
}

/// A table that lets an ID come twice, so that a test sees it.
fn create_orders(cluster: &Cluster) {
    let create = "CREATE TABLE orders (id bigint DEFAULT snowflake_nextval())";
    cluster.run(create);
}

/// Runs the script with statements before others of it.
fn install_with(cluster: &Cluster, statements: &[(&str, String)]) {
    let mut text = script();
    for (before, statement) in statements {
        assert_eq!(text.matches(before).count(), 1, "{before}");
        text = text.replace(before, &format!("{statement}{before}"));
    }
    cluster.run(&text);
}
