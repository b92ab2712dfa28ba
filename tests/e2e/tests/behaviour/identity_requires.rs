//! `snowflake.identity_requires`: an identity in the data directory that only one server has,
//! because of its name.

use std::fs;

use postgres::Client;
use postgres::error::SqlState;
use snowflake_e2e::{Cluster, NEXT, Run, assert_check, bigint, check, error_of, refusal};

/// The server of the cluster `shop`, with its identity in the data directory.
fn shop() -> Cluster {
    let builder = Cluster::builder().environment("CLUSTER_NAME=shop".into());
    let builder = builder.environment("NAMESPACE=shop-db".into());
    builder.set("snowflake.identity_requires", "CLUSTER_NAME=shop, NAMESPACE=shop-db").start()
}

/// Asserts that the server decodes IDs and issues none, and that it says why.
#[track_caller]
fn assert_refused(client: &mut Client, why: &str) {
    let error = refusal(client.batch_execute(NEXT));
    assert_eq!(error.message(), "snowflake.identity_requires does not hold on this server");
    assert_eq!(error.detail(), Some(why));
    let hint = error.hint().expect("what to do");
    assert!(hint.contains("datacenter and worker ID of its own"), "{hint}");
    assert!(hint.ends_with(" See docs/runbook.md."), "{hint}");
    assert_check(client, "identity", false, why);
    assert!(!check(client, "issues IDs").0);
    assert!(!check(client, "origin of the identity").0);
    let none =
        "SELECT count(*) FROM snowflake_status WHERE datacenter_id IS NULL AND worker_id IS NULL";
    assert_eq!(bigint(client, none), 1);
    let decoded = "SELECT snowflake_worker_id(1268118639732232192)::bigint";
    assert_eq!(bigint(client, decoded), 9);
}

/// A job, such as one that restores, has the configuration of the cluster and not its environment.
#[test]
fn where_it_holds_an_identity_in_the_data_directory_is_well() {
    let mut cluster = shop();
    let mut client = cluster.connect();
    assert_check(&mut client, "origin of the identity", true, "/data/postgresql.conf, line ");
    assert!(check(&mut client, "issues IDs").0);
    assert_eq!(bigint(&mut client, "SELECT snowflake_worker_id(snowflake_nextval())::bigint"), 9);
    let error = error_of(client.batch_execute("SET snowflake.identity_requires = ''"));
    assert_eq!(error.code(), &SqlState::CANT_CHANGE_RUNTIME_PARAM);
    let before = bigint(&mut client, NEXT);
    cluster.set_environment("NAMESPACE=");
    cluster.restart();
    let why = "The environment variable NAMESPACE is not \"shop-db\".";
    assert_refused(&mut cluster.connect(), why);
    cluster.set_environment("NAMESPACE=shop-db");
    cluster.restart();
    assert!(cluster.bigint(NEXT) > before);
}

/// A restored cluster has the configuration of its original, and another name.
#[test]
fn a_clone_under_another_name_decodes_and_issues_none() {
    let original = shop();
    original.run(NEXT);
    let mut clone = original.base_backup(&[]);
    clone.set_environment("CLUSTER_NAME=staging");
    clone.start_again();
    let mut client = clone.connect();
    assert_refused(&mut client, "The environment variable CLUSTER_NAME is not \"shop\".");
    // Adoption does not let an INSERT fail, either.
    client.run(
        "SET snowflake.adopted_schemas = 'public'; CREATE TABLE t (id bigserial PRIMARY KEY);
         INSERT INTO t DEFAULT VALUES",
    );
    // With an identity of its own, and its own name, it is a server like any other.
    let its_name = ("snowflake.identity_requires", "CLUSTER_NAME=staging");
    clone.restart_with(&[("snowflake.worker_id", "10"), its_name]);
    let own = "SELECT snowflake_worker_id(snowflake_nextval())::bigint";
    assert_eq!(clone.bigint(own), 10);
}

/// Members of a cluster have one name, so that a standby takes over.
#[test]
fn a_standby_under_the_same_name_takes_over_and_under_another_it_does_not() {
    let primary = shop();
    primary.run(NEXT);
    let same = primary.standby();
    let mut other = primary.base_backup(&["--write-recovery-conf"]);
    other.set_environment("CLUSTER_NAME=staging");
    other.start_again();
    assert!(check(&mut same.connect(), "issues IDs").0);
    assert_check(
        &mut other.connect(),
        "issues IDs",
        false,
        "would issue no ID if it were promoted now",
    );
    other.promote();
    assert_refused(&mut other.connect(), "The environment variable CLUSTER_NAME is not \"shop\".");
}

#[test]
fn the_name_of_the_machine_can_be_required() {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    let here = format!("hostname={}", name.trim_end());
    let mut cluster = Cluster::builder().set("snowflake.identity_requires", &here).start();
    cluster.run(NEXT);
    cluster.restart_with(&[("snowflake.identity_requires", "hostname=another-machine")]);
    assert_refused(&mut cluster.connect(), "The name of the machine is not \"another-machine\".");
}
