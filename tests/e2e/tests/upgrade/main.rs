//! Upgrades from the former release of snowflake_pg, with servers that really run it:
//! `tools/former-release` builds it.

mod library;
mod register;
mod rolling;
mod script;
mod stored;

use std::fs;

use snowflake_e2e::{Cluster, Programs, check, create_orders};

/// A cluster of the former release, with a table.
fn former_cluster() -> Cluster {
    let cluster =
        Cluster::builder().programs(Programs::former_release_from_env()).fake_clock().start();
    create_orders(&cluster);
    cluster
}

fn assert_well(cluster: &Cluster) {
    assert!(check(&mut cluster.connect(), "issues IDs").0);
}

/// Starts the cluster, which is down, with the library of this tree.
fn start_with_new_library(cluster: &mut Cluster) {
    cluster.use_programs(Programs::from_env());
    cluster.start_again();
}

/// Starts the cluster, which is down, with the library of the former release.
fn start_with_former_library(cluster: &mut Cluster) {
    cluster.use_programs(Programs::former_release_from_env());
    cluster.start_again();
}

/// Starts the cluster, which is down, as a standby of another one, with the library of this tree.
fn follow(cluster: &mut Cluster, primary: &Cluster) {
    let upstream = primary.connection("postgres") + " user=postgres";
    cluster.configure(&[("primary_conninfo", &upstream), ("recovery_target_timeline", "latest")]);
    fs::write(cluster.data().join("standby.signal"), "").expect("root, or the owner");
    start_with_new_library(cluster);
}
