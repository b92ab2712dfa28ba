//! Who holds the horizon back, and who may see it.

use postgres::Client;
use snowflake_e2e::{Cluster, Run, assert_check, process};

use super::{begin, start};

fn row(client: &mut Client) -> (Option<i32>, Option<String>, bool, Option<i64>) {
    let query =
        "SELECT pid, prepared, since BETWEEN now() - interval '1 minute' AND now(), first_id
                 FROM snowflake_horizon_holders";
    let row = client.query_one(query, &[]).expect("one row");
    (row.get(0), row.get(1), row.get::<_, Option<bool>>(2) == Some(true), row.get(3))
}

#[test]
fn the_view_names_processes_and_prepared_transactions() {
    let mut cluster = start(Cluster::builder(), "20");
    let mut superuser = cluster.connect();
    superuser.run("CREATE ROLE guest LOGIN; CREATE ROLE monitor LOGIN IN ROLE pg_monitor");
    let (mut client, first) = begin(&cluster);
    let pid = process(&mut client) as i32;
    let (mut guest, mut monitor) =
        (cluster.connect_as("guest", "postgres"), cluster.connect_as("monitor", "postgres"));
    assert_eq!(row(&mut superuser), (Some(pid), None, true, Some(first)));
    assert_eq!(row(&mut monitor), (Some(pid), None, true, Some(first)));
    // As in pg_stat_activity.
    assert_eq!(row(&mut guest), (Some(pid), None, false, None));
    client.run("PREPARE TRANSACTION 'two'");
    let two = || Some("two".to_owned());
    assert_eq!(row(&mut superuser), (None, two(), true, Some(first)));
    assert_eq!(row(&mut monitor), (None, two(), true, Some(first)));
    assert_eq!(row(&mut guest), (None, two(), false, None));
    // One without an ID holds nothing back.
    client.run("BEGIN; INSERT INTO orders VALUES (1); PREPARE TRANSACTION 'without'");
    assert_eq!(row(&mut superuser), (None, two(), true, Some(first)));
    client.run("ROLLBACK PREPARED 'without'");
    cluster.restart();
    // From before the start: nothing is known of it.
    assert_eq!(row(&mut cluster.connect()), (None, two(), false, None));
    cluster.run("COMMIT PREPARED 'two'");
    let count = "SELECT count(*) FROM snowflake_horizon_holders";
    assert_eq!(cluster.bigint(count), 0);
}

#[test]
fn the_check_names_what_holds_it_back_for_more_than_a_minute() {
    let mut cluster = start(Cluster::builder().fake_clock(), "5");
    cluster.run("CREATE ROLE guest LOGIN");
    let (mut client, _) = begin(&cluster);
    let pid = process(&mut client);
    let mut other = cluster.connect();
    assert_check(&mut other, "horizon", true, "");
    cluster.set_clock("+90s");
    assert_check(&mut other, "horizon", false, &format!("process {pid}"));
    assert_check(&mut cluster.connect_as("guest", "postgres"), "horizon", true, "Not checked");
    client.run("PREPARE TRANSACTION 'slow'");
    assert_check(&mut other, "horizon", false, "\"slow\"");
    cluster.restart();
    assert_check(&mut cluster.connect(), "horizon", false, "slow of role postgres");
    assert_check(&mut cluster.connect(), "horizon", false, "not known");
    cluster.run("ROLLBACK PREPARED 'slow'");
    assert_check(&mut cluster.connect(), "horizon", true, "");
}
