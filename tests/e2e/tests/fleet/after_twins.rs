//! What an operator does when a subscription was disabled, after twins, and with a member that has
//! lost rows.

use std::io::{Read, Write};

use postgres::Client;
use snowflake_e2e::{Cluster, bigint, check, eventually};

use crate::twins::{refuse_rows, rows, server, subscribe, twins, two_that_follow_each_other};

fn all<T>(servers: &[Cluster], act: impl Fn(&mut Client) -> T) -> Vec<T> {
    servers.iter().map(|server| act(&mut server.connect())).collect()
}

/// Waits until both have so many rows, which are the same.
fn wait_for_equal_rows(servers: &[Cluster], count: i64) {
    for server in servers {
        let mut client = server.connect();
        eventually("all rows arrive", || rows(&mut client) == count);
    }
    let contents = "SELECT string_agg(orders::text, ',' ORDER BY id) FROM orders";
    eventually("the rows are the same", || {
        let tables: Vec<String> =
            all(servers, |client| client.query_one(contents, &[]).expect("the rows").get(0));
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
    client.batch_execute("CREATE ROLE ordinary LOGIN").expect("a role");
    let mut ordinary = subscriber.connect_as("ordinary", "postgres");
    for kills in [false, true] {
        for disables in [true, false] {
            let options = format!("copy_data = false, disable_on_error = {disables}");
            subscribe(&subscriber, &publisher, "s", &options);
            let streaming =
                "SELECT count(*) FROM pg_stat_subscription WHERE latest_end_lsn > '0/0'";
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
                client.batch_execute("ALTER SUBSCRIPTION s ENABLE").expect("an alteration");
            }
            assert!(subscriptions(&mut ordinary).0);
            let insert = "INSERT INTO orders VALUES (1)";
            publisher.connect().batch_execute(insert).expect("a row");
            eventually("the row arrives", || rows(&mut client) == 1);
            client.batch_execute("DROP SUBSCRIPTION s").expect("no subscription");
            for server in [&publisher, &subscriber] {
                server.connect().batch_execute("TRUNCATE orders").expect("no rows");
            }
        }
    }
}

/// Both servers give their rows with equal keys new ones. Rows that had arrived before are not
/// touched.
#[test]
fn rows_with_equal_keys_are_kept() {
    let Some(mut servers) = two_that_follow_each_other(["9", "9"]) else { return };
    let arrived = "INSERT INTO orders SELECT snowflake_nextval(10), 'early'";
    servers[0].connect().batch_execute(arrived).expect("rows");
    wait_for_equal_rows(&servers, 10);
    // In the same milliseconds, both issue the same IDs.
    let equal = "INSERT INTO orders
        SELECT snowflake_make('2026-11-21 12:00+00', 5, 9, n), current_setting('data_directory')
        FROM generate_series(1, 20) AS n";
    let own = "INSERT INTO orders (item) SELECT 'own' FROM generate_series(1, 30)";
    switch_subscriptions(&servers, "DISABLE");
    all(&servers, |client| client.batch_execute(&format!("{own}; {equal}")).expect("rows"));
    switch_subscriptions(&servers, "ENABLE");
    for server in &servers {
        eventually("the keys collide", || server.log().contains("\"orders_pkey\""));
    }

    switch_subscriptions(&servers, "DISABLE");
    servers[1].stop();
    servers[1].configure(&[("snowflake.worker_id", "8")]);
    servers[1].start_again();
    let mut clients = servers.each_ref().map(Cluster::connect);
    let theirs = copy_out(&mut clients[1], "orders");
    clients[0].batch_execute("CREATE TABLE theirs (LIKE orders)").expect("a table");
    copy_in(&mut clients[0], "theirs", &theirs);
    clients[0]
        .batch_execute(
            "CREATE TABLE equal_keys AS
                 SELECT id FROM orders AS o JOIN theirs AS t USING (id)
                 WHERE ROW(o.*) IS DISTINCT FROM ROW(t.*)",
        )
        .expect("the keys");
    assert_eq!(bigint(&mut clients[0], "SELECT count(*) FROM equal_keys"), 20);
    let keys = copy_out(&mut clients[0], "equal_keys");
    clients[1].batch_execute("CREATE TABLE equal_keys (id bigint)").expect("a table");
    copy_in(&mut clients[1], "equal_keys", &keys);
    for client in &mut clients {
        let renumber = "UPDATE orders SET id = snowflake_nextval()
            WHERE id IN (SELECT id FROM equal_keys)";
        assert_eq!(client.execute(renumber, &[]).expect("new keys"), 20);
    }
    switch_subscriptions(&servers, "ENABLE");
    wait_for_equal_rows(&servers, 110);

    // Nothing else is under way, so the triggers can refuse rows again.
    for client in &mut clients {
        client.batch_execute("SELECT snowflake_stat_reset()").expect("counters");
        refuse_rows(client, "refuse");
        client.batch_execute("INSERT INTO orders (item) VALUES ('later')").expect("a row");
    }
    wait_for_equal_rows(&servers, 112);
    for client in &mut clients {
        assert_eq!(twins(client), 0);
    }
}

/// Enables or disables what each of the two follows.
fn switch_subscriptions(servers: &[Cluster; 2], action: &str) {
    for (server, other) in servers.iter().zip([1, 0]) {
        let statement = format!("ALTER SUBSCRIPTION from_{other} {action}");
        server.connect().batch_execute(&statement).expect("an alteration");
    }
}

fn copy_out(client: &mut Client, table: &str) -> Vec<u8> {
    let mut rows = Vec::new();
    let mut reader = client.copy_out(&format!("COPY {table} TO STDOUT")).expect("a copy");
    reader.read_to_end(&mut rows).expect("rows");
    rows
}

fn copy_in(client: &mut Client, table: &str, rows: &[u8]) {
    let mut writer = client.copy_in(&format!("COPY {table} FROM STDIN")).expect("a copy");
    writer.write_all(rows).expect("rows");
    writer.finish().expect("a copy");
}

/// A member that was restored to an earlier state copies the table from another one. What it empties
/// is not emptied there. A base backup contains no slots, so the other one follows it anew.
#[test]
fn a_restored_member_is_filled_again() {
    let Some(servers) = two_that_follow_each_other(["8", "9"]) else { return };
    let insert = "INSERT INTO orders (item) SELECT 'book' FROM generate_series(1, 50)";
    all(&servers, |client| client.batch_execute(insert).expect("rows"));
    wait_for_equal_rows(&servers, 100);
    let [mut other, mut restored] = servers.each_ref().map(Cluster::connect);
    refuse_rows(&mut restored, "refuse");
    execute(&mut other, &["ALTER SUBSCRIPTION from_1 DISABLE"]);
    let inactive = "SELECT count(*) FROM pg_replication_slots WHERE NOT active";
    eventually("nobody follows it", || bigint(&mut restored, inactive) == 1);
    execute(
        &mut restored,
        &[
            "SELECT pg_drop_replication_slot('from_1')",
            "DELETE FROM orders WHERE id IN (SELECT id FROM orders ORDER BY id LIMIT 30)",
        ],
    );

    execute(&mut other, &["ALTER SUBSCRIPTION from_1 SET (slot_name = NONE)"]);
    execute(&mut other, &["DROP SUBSCRIPTION from_1"]);
    execute(
        &mut restored,
        &[
            "DROP SUBSCRIPTION from_0",
            "ALTER PUBLICATION orders DROP TABLE orders",
            "TRUNCATE orders",
            "ALTER PUBLICATION orders ADD TABLE orders",
        ],
    );
    // What the other one inserts meanwhile is copied, too.
    execute(&mut other, &[insert]);
    subscribe(&servers[1], &servers[0], "from_0", "origin = none, copy_data = true");
    subscribe(&servers[0], &servers[1], "from_1", "origin = none, copy_data = false");
    wait_for_equal_rows(&servers, 150);
    all(&servers, |client| client.batch_execute(insert).expect("rows"));
    wait_for_equal_rows(&servers, 250);
    assert_eq!(all(&servers, twins), [0, 0]);
}

/// The same while the other one goes on following it: the table is not emptied there.
#[test]
fn a_member_is_filled_again_while_another_one_follows_it() {
    let Some(servers) = two_that_follow_each_other(["8", "9"]) else { return };
    let insert = "INSERT INTO orders (item) SELECT 'book' FROM generate_series(1, 50)";
    all(&servers, |client| client.batch_execute(insert).expect("rows"));
    wait_for_equal_rows(&servers, 100);
    let mut client = servers[1].connect();
    execute(
        &mut client,
        &[
            "DROP SUBSCRIPTION from_0",
            "ALTER PUBLICATION orders DROP TABLE orders",
            "TRUNCATE orders",
            "ALTER PUBLICATION orders ADD TABLE orders",
        ],
    );
    subscribe(&servers[1], &servers[0], "from_0", "origin = none, copy_data = true");
    wait_for_equal_rows(&servers, 100);
    all(&servers, |client| client.batch_execute(insert).expect("rows"));
    wait_for_equal_rows(&servers, 200);
    assert_eq!(all(&servers, twins), [0, 0]);
}

/// One transaction for each statement.
fn execute(client: &mut Client, statements: &[&str]) {
    for statement in statements {
        client.batch_execute(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
}
