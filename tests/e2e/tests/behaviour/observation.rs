//! IDs of other servers that are observed: what is followed, what is refused, and what is an error.

use postgres::Client;
use snowflake_e2e::{Cluster, NEXT, Register, Run, bigint, check, value};

/// A server that follows IDs up to this far ahead of its clock.
fn server(max_observed_lead: &str) -> (Cluster, Client) {
    let cluster = Cluster::builder().set("snowflake.max_observed_lead", max_observed_lead).start();
    let mut client = cluster.connect();
    bigint(&mut client, NEXT);
    (cluster, client)
}

/// An ID of datacenter 1, worker 2, that is so far from the clock.
fn id(client: &mut Client, from_now: &str) -> i64 {
    let id = format!("SELECT snowflake_make(clock_timestamp() + interval '{from_now}', 1, 2, 7)");
    bigint(client, &id)
}

fn observe(client: &mut Client, id: i64) -> bool {
    value(client, &format!("SELECT snowflake_observe({id})"))
}

fn refused(client: &mut Client) -> i64 {
    bigint(client, "SELECT observations_refused FROM pg_stat_snowflake")
}

#[test]
fn what_is_too_far_ahead_is_refused_and_changes_nothing() {
    let (cluster, mut client) = server("1s");
    let before = bigint(&mut client, NEXT);
    for _ in 0..3 {
        let wrong = id(&mut client, "1 hour");
        assert!(!observe(&mut client, wrong));
    }
    assert!(bigint(&mut client, NEXT) > before);
    let lead = "SELECT (extract(epoch FROM snowflake_timestamp(snowflake_nextval()) - clock_timestamp()) * 1000)::bigint";
    assert!(bigint(&mut client, lead) < 1000);
    assert_eq!(refused(&mut client), 3);
    let log = cluster.log();
    assert_eq!(log.matches(" ahead of the clock, and was not followed").count(), 1, "{log}");
    assert!(log.contains("Datacenter 1, worker 2 issued it at "), "{log}");
    let (ok, detail, _) = check(&mut client, "observation");
    assert!(!ok && detail.ends_with("Not followed since the counters were reset: 3."), "{detail}");
    client.run("SELECT snowflake_stat_reset()");
    assert!(check(&mut client, "observation").0);
}

#[test]
fn what_was_observed_is_passed_after_a_crash_and_a_step_back() {
    let mut cluster =
        Cluster::builder().fake_clock().set("snowflake.max_observed_lead", "1min").start();
    for crash in [
        |cluster: &mut Cluster| cluster.crash_a_backend(),
        |cluster: &mut Cluster| {
            cluster.kill();
            cluster.start_again();
        },
    ] {
        let mut client = cluster.connect();
        let seen = id(&mut client, "20 s");
        assert!(observe(&mut client, seen));
        drop(client);
        cluster.set_clock("-1h");
        crash(&mut cluster);
        let mut client = cluster.connect();
        assert!(bigint(&mut client, NEXT) > seen);
        cluster.set_clock("+0");
    }
}

#[test]
fn an_observed_lead_is_no_jump_of_the_clock() {
    let mut cluster = Cluster::builder().set("snowflake.max_observed_lead", "1d").start();
    let mut client = cluster.connect();
    let seen = id(&mut client, "20 h");
    assert!(observe(&mut client, seen));
    cluster.kill();
    cluster.start_again();
    let mut client = cluster.connect();
    assert!(bigint(&mut client, NEXT) > seen);
    let steps = "SELECT steps_held + steps_reused + steps_refused FROM pg_stat_snowflake";
    assert_eq!(bigint(&mut client, steps), 0, "the record explains the lead");
    cluster.assert_not_logged("jumped");
}

/// An ID with this server's own identity that it has not issued is a twin's, or was lost with WAL.
#[test]
fn an_own_id_from_elsewhere_is_counted_as_a_twins() {
    let (cluster, mut client) = server("1min");
    let twins = |client: &mut Client| bigint(client, "SELECT twins FROM pg_stat_snowflake");
    let own = bigint(&mut client, NEXT);
    assert!(observe(&mut client, own));
    assert_eq!(twins(&mut client), 0, "it was issued here");
    let lost = "SELECT snowflake_make(clock_timestamp() + interval '5 s', 5, 9, 0)";
    let lost = bigint(&mut client, lost);
    assert!(observe(&mut client, lost));
    assert_eq!(twins(&mut client), 1);
    let next = bigint(&mut client, NEXT);
    assert!(next > lost);
    // One within the reservation, for which nothing has to be written.
    assert!(observe(&mut client, next + (1 << 22)));
    assert_eq!(twins(&mut client), 2);
    cluster.assert_logged("was observed, and is above the last one that this server has issued.");
    let far = bigint(&mut client, "SELECT snowflake_make(now() + interval '1 hour', 5, 9, 0)");
    assert!(!observe(&mut client, far));
    assert_eq!(twins(&mut client), 3);

    // A replicated row brings one, too.
    client.run(&format!(
        "CREATE TABLE rows (id bigint);
         CREATE TRIGGER observe BEFORE INSERT ON rows FOR EACH ROW
             EXECUTE FUNCTION snowflake_observe_rows('id');
         ALTER TABLE rows ENABLE REPLICA TRIGGER observe; {REPLICA};
         INSERT INTO rows SELECT snowflake_make(clock_timestamp() + interval '20 s', 5, 9, 0);
         RESET session_replication_role"
    ));
    assert_eq!(twins(&mut client), 4);
    let row = bigint(&mut client, "SELECT id FROM rows");
    assert!(bigint(&mut client, NEXT) > row);

    // Nothing is known of them before the first ID of this life, and its own from before are none.
    cluster.crash_a_backend();
    let mut client = cluster.connect();
    assert!(observe(&mut client, own));
    assert!(observe(&mut client, next));
    assert_eq!(twins(&mut client), 0);
}

/// Rows as a replica gets them.
const REPLICA: &str = "SET session_replication_role = replica";

/// A register that cannot be used is no reason to stop a replica.
#[test]
fn the_trigger_never_stops_a_replica() {
    let (mut cluster, mut client) = server("10s");
    client.run(
        "CREATE TABLE posts (id bigint PRIMARY KEY);
         CREATE TRIGGER observe BEFORE INSERT ON posts FOR EACH ROW
             EXECUTE FUNCTION snowflake_observe_rows('id');
         ALTER TABLE posts ENABLE ALWAYS TRIGGER observe",
    );
    let near = id(&mut client, "6 s");
    cluster.stop();
    let path = Register::path(&cluster);
    let mut page = std::fs::read(&path).expect("the register");
    page[100..].fill(7);
    std::fs::write(&path, page).expect("the register");
    cluster.start_again();
    let mut client = cluster.connect();
    let insert = format!("{REPLICA}; INSERT INTO posts VALUES ({near})");
    client.run(&insert);
    assert_eq!(bigint(&mut client, "SELECT count(*) FROM posts"), 1);
    assert_eq!(refused(&mut client), 1);
    cluster.assert_logged("of a replicated row was not followed: ");
}
