//! Steps of an operator when a subscription was disabled, after twins, and with a member that has
//! lost rows.

use std::io;

use postgres::Client;
use snowflake_e2e::{Cluster, Run, bigint, check, eventually, value};

use crate::twins::{server, subscribe, twins, two_that_follow_each_other, wait_for_rows, watch};

fn all<T>(servers: &[Cluster], act: impl Fn(&mut Client) -> T) -> Vec<T> {
    servers.iter().map(|server| act(&mut server.connect())).collect()
}

/// Waits until both have so many rows, which are the same.
#[track_caller]
fn wait_for_equal_rows(servers: &[Cluster], count: i64) {
    all(servers, |client| wait_for_rows(client, count));
    let contents = "SELECT string_agg(orders::text, ',' ORDER BY id) FROM orders";
    eventually("the rows are the same", || {
        let tables = all(servers, |client| value::<String>(client, contents));
        tables[0] == tables[1]
    });
}

/// The row of the check: whether it is well, and what it says.
fn subscriptions(client: &mut Client) -> (bool, String) {
    let (ok, detail, _) = check(client, "subscriptions");
    (ok, detail)
}

/// With `disable_on_error`, a subscription is disabled when its publisher goes down, too, although
/// nothing is wrong with it. The check says so. Without it, the subscription goes on by itself.
#[test]
fn a_restart_of_the_publisher_disables_a_subscription() {
    let (mut publisher, subscriber) = (server("8", "'id'"), server("9", "'id'"));
    let mut client = subscriber.connect();
    client.run("CREATE ROLE ordinary LOGIN");
    let mut ordinary = subscriber.connect_as("ordinary", "postgres");
    for (kills, disables) in [(false, true), (false, false), (true, true), (true, false)] {
        let options = format!("copy_data = false, disable_on_error = {disables}");
        subscribe(&subscriber, &publisher, "s", &options);
        let streaming = "SELECT count(*) FROM pg_stat_subscription WHERE latest_end_lsn > '0/0'";
        eventually("it streams", || bigint(&mut client, streaming) == 1);
        match kills {
            true => publisher.kill(),
            false => publisher.stop(),
        }
        publisher.start_again();
        if disables {
            eventually("it is disabled", || !subscriptions(&mut client).0);
            let detail = "These subscriptions to watched tables are disabled: s.";
            for client in [&mut client, &mut ordinary] {
                assert_eq!(subscriptions(client), (false, detail.to_owned()));
            }
            client.run("ALTER SUBSCRIPTION s ENABLE");
        }
        assert!(subscriptions(&mut ordinary).0);
        publisher.run("INSERT INTO orders VALUES (1)");
        wait_for_rows(&mut client, 1);
        client.run("DROP SUBSCRIPTION s");
        publisher.run("TRUNCATE orders");
        subscriber.run("TRUNCATE orders");
    }
}

/// Both servers give their rows with equal keys new ones. Rows that had arrived before are not
/// touched.
#[test]
fn rows_with_equal_keys_are_kept() {
    let Some(mut servers) = two_that_follow_each_other(["9", "9"]) else { return };
    servers[0].run("INSERT INTO orders SELECT snowflake_nextval(10), 'early'");
    wait_for_equal_rows(&servers, 10);
    // In the same milliseconds, both issue the same IDs.
    let rows = "INSERT INTO orders (item) SELECT 'own' FROM generate_series(1, 30);
        INSERT INTO orders
        SELECT snowflake_make('2026-11-21 12:00+00', 5, 9, n), current_setting('data_directory')
        FROM generate_series(1, 20) AS n";
    switch_subscriptions(&servers, "DISABLE");
    all(&servers, |client| client.run(rows));
    switch_subscriptions(&servers, "ENABLE");
    for server in &servers {
        eventually("the keys collide", || server.log().contains("\"orders_pkey\""));
    }

    switch_subscriptions(&servers, "DISABLE");
    servers[1].stop();
    servers[1].configure(&[("snowflake.worker_id", "8")]);
    servers[1].start_again();
    let mut clients = servers.each_ref().map(Cluster::connect);
    let [one, other] = &mut clients;
    one.run("CREATE TABLE theirs (LIKE orders)");
    copy(other, "orders", one, "theirs");
    one.run(
        "CREATE TABLE equal_keys AS
             SELECT id FROM orders AS o JOIN theirs AS t USING (id)
             WHERE ROW(o.*) IS DISTINCT FROM ROW(t.*)",
    );
    other.run("CREATE TABLE equal_keys (id bigint)");
    copy(one, "equal_keys", other, "equal_keys");
    for client in [one, other] {
        let renumber = "UPDATE orders SET id = snowflake_nextval()
            WHERE id IN (SELECT id FROM equal_keys)";
        assert_eq!(client.execute(renumber, &[]).expect("new keys"), 20);
    }
    switch_subscriptions(&servers, "ENABLE");
    wait_for_equal_rows(&servers, 110);

    // Nothing else is under way, so the triggers can refuse rows again.
    for client in &mut clients {
        client.run("SELECT snowflake_stat_reset()");
        client.run(&watch("'id', 'refuse'"));
        client.run("INSERT INTO orders (item) VALUES ('later')");
    }
    wait_for_equal_rows(&servers, 112);
    assert_eq!(all(&servers, twins), [0, 0]);
}

/// Enables or disables what each of the two follows.
fn switch_subscriptions(servers: &[Cluster; 2], action: &str) {
    for (server, other) in servers.iter().zip([1, 0]) {
        server.run(&format!("ALTER SUBSCRIPTION from_{other} {action}"));
    }
}

/// Copies a table of one server into one of another.
fn copy(from: &mut Client, table: &str, to: &mut Client, into: &str) {
    let mut rows = from.copy_out(&format!("COPY {table} TO STDOUT")).expect("a copy");
    let mut writer = to.copy_in(&format!("COPY {into} FROM STDIN")).expect("a copy");
    io::copy(&mut rows, &mut writer).expect("rows");
    writer.finish().expect("a copy");
}

/// A member copies the table from another one again. What it empties is not emptied there, while
/// the other one goes on following it. If the member was restored to an earlier state, the other
/// one follows it anew: a base backup contains no slots.
#[test]
fn a_member_is_filled_again() {
    for is_restored in [false, true] {
        let Some(servers) = two_that_follow_each_other(["8", "9"]) else { return };
        let insert = "INSERT INTO orders (item) SELECT 'book' FROM generate_series(1, 50)";
        all(&servers, |client| client.run(insert));
        wait_for_equal_rows(&servers, 100);
        let [other, member] = &servers;
        if is_restored {
            member.run(&watch("'id', 'refuse'"));
            other.run("ALTER SUBSCRIPTION from_1 DISABLE");
            let inactive = "SELECT count(*) FROM pg_replication_slots WHERE NOT active";
            let mut client = member.connect();
            eventually("nobody follows it", || bigint(&mut client, inactive) == 1);
            client.run("SELECT pg_drop_replication_slot('from_1')");
            let lost = "SELECT id FROM orders ORDER BY id LIMIT 30";
            client.run(&format!("DELETE FROM orders WHERE id IN ({lost})"));
            other.run("ALTER SUBSCRIPTION from_1 SET (slot_name = NONE)");
            other.run("DROP SUBSCRIPTION from_1");
        }
        member.run("DROP SUBSCRIPTION from_0");
        member.run("ALTER PUBLICATION orders DROP TABLE orders");
        member.run("TRUNCATE orders");
        member.run("ALTER PUBLICATION orders ADD TABLE orders");
        // Rows that the other one inserts meanwhile are copied, too.
        other.run(insert);
        subscribe(member, other, "from_0", "origin = none, copy_data = true");
        if is_restored {
            subscribe(other, member, "from_1", "origin = none, copy_data = false");
        }
        wait_for_equal_rows(&servers, 150);
        all(&servers, |client| client.run(insert));
        wait_for_equal_rows(&servers, 250);
        assert_eq!(all(&servers, twins), [0, 0]);
    }
}
