//! `snowflake.worker_id_from`: one configuration for all members, each of which has its number in
//! its name.

use postgres::Client;
use postgres::error::SqlState;
use snowflake_e2e::{
    Cluster, ClusterBuilder, Means, NEXT, assert_check, bigint, check, error_of, lacks, refusal,
    value,
};

const WORKER: &str = "SELECT snowflake_worker_id(snowflake_nextval())::bigint";
const ORIGIN: &str = "origin of the identity";

/// A member whose configuration is the same as that of all others, in the data directory.
fn member(pattern: &str) -> ClusterBuilder {
    Cluster::builder()
        .unset("snowflake.worker_id")
        .set("snowflake.datacenter_id", "1")
        .set("snowflake.worker_id_from", pattern)
}

/// Asserts that the server decodes IDs and issues none, and that it says why.
#[track_caller]
fn assert_refused(client: &mut Client, why: &str, what_to_do: &str) {
    let error = refusal(client.batch_execute(NEXT));
    assert_eq!(error.message(), "snowflake.worker_id_from gives this server no worker ID");
    assert_eq!(error.detail(), Some(why));
    let hint = error.hint().expect("what to do");
    assert!(hint.contains(what_to_do) && hint.ends_with(" See docs/runbook.md."), "{hint}");
    assert_check(client, "identity", false, why);
    assert_check(client, "issues IDs", false, "");
    assert_check(client, ORIGIN, true, "No ID is issued.");
    let none = "SELECT count(*) FROM snowflake_status WHERE worker_id IS NULL";
    assert_eq!(bigint(client, none), 1);
    let decoded = "SELECT snowflake_worker_id(1268118639732232192)::bigint";
    assert_eq!(bigint(client, decoded), 9);
}

const COPY: &str = "If this is a copy of another server";

#[test]
fn the_name_of_the_machine_has_the_worker_id_until_the_next_start() {
    if lacks(&[Means::OwnHostName]) {
        return;
    }
    let mut cluster = member("hostname=db-*").host_name("db-02").start();
    let mut client = cluster.connect();
    assert_eq!(bigint(&mut client, WORKER), 2);
    assert_check(&mut client, "identity", true, "Datacenter 1, worker 2.");
    let (ok, detail, _) = check(&mut client, ORIGIN);
    assert!(ok && detail.contains("/data/postgresql.conf, line "), "{detail}");
    let found = "The pattern is \"hostname=db-*\", and the name of the machine is \"db-02\". The \
                 worker ID is 2.";
    assert!(detail.ends_with(found), "{detail}");
    assert!(!detail.contains("snowflake.worker_id:"), "{detail}");
    assert_eq!(bigint(&mut client, "SELECT worker_id::bigint FROM snowflake_status"), 2);
    // Nobody else gets this number, and the lines are those of any server.
    let lines: String = value(&mut client, "SELECT snowflake_claim_node('db-02', 1, 2)");
    assert_eq!(lines, "# node db-02\nsnowflake.datacenter_id = 1\nsnowflake.worker_id = 2");

    cluster.set_host_name("db-3");
    assert_eq!(bigint(&mut client, WORKER), 2);
    let now = "The worker ID is 2. The name is \"db-3\" now, and counts from the next start on.";
    assert_check(&mut client, ORIGIN, false, now);
    cluster.restart();
    let mut client = cluster.connect();
    assert_eq!(bigint(&mut client, WORKER), 3);
    assert_check(&mut client, ORIGIN, true, "The worker ID is 3.");
    let line = "LOG:  snowflake IDs continue after a change: worker 2 to 3";
    cluster.assert_logged(line);
}

#[test]
fn an_environment_variable_has_it_where_the_others_are_as_required() {
    let builder = member("POD_INDEX=*, NAMESPACE=shop-db");
    let builder = builder.environment("POD_INDEX=7".into());
    let mut cluster = builder.environment("NAMESPACE=shop-db".into()).start();
    assert_eq!(cluster.bigint(WORKER), 7);
    let error = error_of(cluster.connect().batch_execute("SET snowflake.worker_id_from = ''"));
    assert_eq!(error.code(), &SqlState::CANT_CHANGE_RUNTIME_PARAM);
    for (variable, why) in [
        ("NAMESPACE=test", "is \"7\". The environment variable NAMESPACE is not \"shop-db\"."),
        ("POD_INDEX=", "is \"\". The environment variable NAMESPACE is not \"shop-db\"."),
        ("NAMESPACE=shop-db", "is \"\"."),
        ("POD_INDEX=-7", "is \"-7\"."),
    ] {
        cluster.set_environment(variable);
        cluster.restart();
        let why =
            format!("The pattern is \"POD_INDEX=*\", and the environment variable POD_INDEX {why}");
        assert_refused(&mut cluster.connect(), &why, COPY);
    }
    cluster.set_environment("POD_INDEX=0");
    cluster.restart();
    assert_eq!(cluster.bigint(WORKER), 0);
    // The other setting is required, too.
    cluster.restart_with(&[("snowflake.identity_requires", "CLUSTER_NAME=shop")]);
    let error = error_of(cluster.connect().batch_execute(NEXT));
    assert_eq!(error.message(), "snowflake.identity_requires does not hold on this server");
}

#[test]
fn a_copy_under_another_name_decodes_and_replays_and_issues_none() {
    if lacks(&[Means::OwnHostName]) {
        return;
    }
    let original = member("hostname=db-*").host_name("db-1").start();
    original.run("CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval())");
    original.run("INSERT INTO orders DEFAULT VALUES");
    let why = |name| {
        format!("The pattern is \"hostname=db-*\", and the name of the machine is \"{name}\".")
    };
    let mut clone = original.base_backup(&[]);
    clone.set_host_name("staging-1");
    clone.start_again();
    assert_refused(&mut clone.connect(), &why("staging-1"), COPY);
    assert_eq!(clone.bigint("SELECT count(*) FROM orders"), 1);

    // Of two standbys with the same configuration, the one with a number takes over.
    let [second, other] = ["db-2", "shop-standby"].map(|name| {
        let mut standby = original.base_backup(&["--write-recovery-conf"]);
        standby.set_host_name(name);
        standby.start_again();
        standby
    });
    assert_check(&mut second.connect(), "issues IDs", true, "");
    assert_check(&mut other.connect(), "issues IDs", false, "if it were promoted now");
    for standby in [&second, &other] {
        standby.promote();
    }
    assert_eq!(second.bigint(WORKER), 2);
    assert_refused(&mut other.connect(), &why("shop-standby"), COPY);
}

/// The hint is one to follow: it moves no bit of the time.
#[test]
fn a_number_above_the_last_worker_id_names_the_widths_that_hold_it() {
    let mut cluster = member("POD_INDEX=*").environment("POD_INDEX=99999999999".into()).start();
    let why = |name| {
        format!(
            "The pattern is \"POD_INDEX=*\", and the environment variable POD_INDEX is \"{name}\". \
             The last worker ID is 31."
        )
    };
    assert_refused(&mut cluster.connect(), &why("99999999999"), "No widths hold it.");
    cluster.set_environment("POD_INDEX=1000");
    cluster.restart();
    let widths = [
        ("snowflake.datacenter_bits", "1"),
        ("snowflake.worker_bits", "10"),
        ("snowflake.sequence_bits", "11"),
    ];
    let hint = widths.map(|(name, bits)| format!("{name} = {bits}"));
    let hint = format!("{}, {} and {}", hint[0], hint[1], hint[2]);
    assert_refused(&mut cluster.connect(), &why("1000"), &hint);
    cluster.restart_with(&widths);
    assert_eq!(cluster.bigint(WORKER), 1000);
}

#[test]
fn the_start_fails_unless_both_settings_say_the_same() {
    for (number, worker_id) in [("2", "3"), ("33", "3")] {
        let builder = member("POD_INDEX=*").environment(format!("POD_INDEX={number}"));
        let Err(log) = builder.set("snowflake.worker_id", worker_id).try_start() else {
            panic!("{number} and {worker_id} are accepted")
        };
        let rule = format!("is \"{number}\". But snowflake.worker_id is {worker_id}: remove it");
        assert!(log.contains(&rule), "{log}");
    }
    let builder = member("POD_INDEX=*").environment("POD_INDEX=003".into());
    let mut cluster = builder.set("snowflake.worker_id", "3").start();
    assert_eq!(cluster.bigint(WORKER), 3);
    assert_check(&mut cluster.connect(), ORIGIN, true, "snowflake.worker_id: ");
    // A copy elsewhere starts.
    cluster.set_environment("POD_INDEX=none");
    cluster.restart();
    let why = "The pattern is \"POD_INDEX=*\", and the environment variable POD_INDEX is \"none\".";
    assert_refused(&mut cluster.connect(), why, COPY);
}
