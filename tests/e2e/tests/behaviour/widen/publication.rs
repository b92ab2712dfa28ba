//! A table that is published: a subscriber needs the shadow, and then the type.

use snowflake_e2e::{Cluster, bigint, eventually};

use super::walk::{Walk, owner};

#[test]
fn a_subscriber_that_has_the_shadows_follows() {
    let cluster = Cluster::builder().with_conversion().set("wal_level", "logical").start();
    let mut client = owner(&cluster, "app");
    let mut superuser = cluster.connect();
    client.batch_execute("CREATE TABLE t (id serial PRIMARY KEY, note text)").expect("a table");
    superuser.batch_execute("CREATE PUBLICATION cdc FOR TABLE app.t").expect("a publication");
    // A server that subscribes to itself would wait for itself to create the slot.
    let slot = "SELECT pg_create_logical_replication_slot('cdc', 'pgoutput')";
    superuser.batch_execute(slot).expect("a slot");
    superuser.batch_execute("CREATE DATABASE elsewhere").expect("a database");
    let mut subscriber = cluster.connect_to("elsewhere");
    let socket = cluster.directory().display();
    let subscribe = format!(
        "CREATE SCHEMA app;
         CREATE TABLE app.t (id integer PRIMARY KEY, note text, snowflake_widen_1 bigint);
         CREATE SUBSCRIPTION cdc CONNECTION 'host={socket} dbname=postgres user=postgres'
             PUBLICATION cdc WITH (create_slot = false, slot_name = cdc)"
    );
    for statement in subscribe.split(';') {
        subscriber.batch_execute(statement).expect("subscribed");
    }

    let insert = "INSERT INTO t (note) VALUES ('new')";
    let prepare = Walk { relation: "t", goal: "prepare", more: "publications => '{cdc}'" };
    let each = |client: &mut postgres::Client, _: &_| client.batch_execute(insert).expect("a row");
    assert_eq!(prepare.walk(&mut client, each).expect("prepared").phase, "ready");
    let swap = Walk { goal: "swap", ..prepare }.next(&mut client, 0).expect("a row");
    swap.execute(&mut client).expect("swapped");
    let last = bigint(&mut client, &format!("{insert} RETURNING id"));
    let count = "SELECT count(*) FROM app.t";
    eventually("all rows", || bigint(&mut subscriber, count) == last);

    let widen = "ALTER TABLE app.t DROP snowflake_widen_1, ALTER id TYPE bigint";
    subscriber.batch_execute(widen).expect("widened");
    client.batch_execute("INSERT INTO t (id) VALUES (4000000000)").expect("a row");
    let largest = "SELECT max(id)::bigint FROM app.t";
    eventually("a large key", || bigint(&mut subscriber, largest) == 4_000_000_000);
    let end = "ALTER SUBSCRIPTION cdc DISABLE; ALTER SUBSCRIPTION cdc SET (slot_name = NONE);
               DROP SUBSCRIPTION cdc";
    for statement in end.split(';') {
        subscriber.batch_execute(statement).expect("dropped");
    }
}
