//! `REPACK (CONCURRENTLY)`, which PostgreSQL 19 brings: a worker of the server copies the table,
//! and replays what was changed meanwhile, from the WAL.

use snowflake_e2e::{
    Cluster, Means, NEXT, Run, assert_increasing, bigint, bigints, create_orders, failing, lacks,
    repack_under_inserts,
};

/// A cluster, unless its server is too old.
fn cluster() -> Option<Cluster> {
    if lacks(&[Means::PostgreSQL(19)]) {
        return None;
    }
    Some(Cluster::start())
}

/// Generated columns, indexes and checks that decode are filled for rows that are copied and for
/// rows that are replayed. What is replayed is not taken for rows of another server.
#[test]
fn a_table_with_decoders_is_repacked_under_inserts() {
    let Some(cluster) = cluster() else { return };
    let mut client = cluster.connect();
    client.run(
        "CREATE EXTENSION amcheck;
         CREATE TABLE orders (
             id bigint PRIMARY KEY DEFAULT snowflake_nextval() CHECK (snowflake_worker_id(id) = 9),
             created_at timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED,
             code text COLLATE \"C\" GENERATED ALWAYS AS (snowflake_to_base62(id)) STORED UNIQUE
         );
         CREATE INDEX orders_by_time ON orders (snowflake_timestamp(id), created_at);
         CREATE INDEX orders_of_odd_sequence ON orders (id) WHERE snowflake_sequence(id) % 2 = 1;
         CREATE TRIGGER watch_twins AFTER INSERT OR DELETE ON orders
             FOR EACH ROW EXECUTE FUNCTION snowflake_watch_twins('id', 'refuse');
         ALTER TABLE orders ENABLE ALWAYS TRIGGER watch_twins",
    );
    repack_under_inserts(&cluster, || cluster.run("REPACK (CONCURRENTLY) orders"));
    let wrong =
        "SELECT count(*) FROM orders WHERE created_at IS DISTINCT FROM snowflake_timestamp(id)
        OR code IS DISTINCT FROM snowflake_to_base62(id)";
    assert_eq!(bigint(&mut client, wrong), 0);
    client.run(
        "SELECT bt_index_check(indexrelid, heapallindexed => true)
         FROM pg_index WHERE indrelid = 'orders'::regclass",
    );
    assert_eq!(bigint(&mut client, "SELECT twins FROM pg_stat_snowflake"), 0);
}

/// Without CONCURRENTLY, and without a table, it takes all tables, the extension's own ones too.
#[test]
fn a_whole_database_is_repacked() {
    let Some(cluster) = cluster() else { return };
    create_orders(&cluster);
    let mut client = cluster.connect();
    client.run("INSERT INTO orders SELECT FROM generate_series(1, 1000)");
    let before = bigint(&mut client, NEXT);
    client.run("REPACK");
    assert_eq!(failing(&mut client), [""; 0]);
    assert_increasing(&[before, bigint(&mut client, NEXT)]);
    assert_eq!(bigints(&mut client, "SELECT id FROM orders").len(), 1000);
}
