//! What uses the extension survives pg_dump and pg_restore.

use snowflake_e2e::{Cluster, bigint, connect_to, dump_and_restore};

#[test]
fn decoding_in_the_schema_survives() {
    let cluster = Cluster::start();
    cluster
        .connect()
        .batch_execute(
            "CREATE TABLE events (
                 id bigint PRIMARY KEY DEFAULT snowflake_nextval() CHECK (snowflake_within(id, '2020-01-01+00', 'infinity')),
                 created_at timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED,
                 code text COLLATE \"C\" GENERATED ALWAYS AS (snowflake_to_base62(id)) STORED
             );
             CREATE INDEX by_time ON events (snowflake_timestamp(id));
             CREATE INDEX by_time_brin ON events USING brin (snowflake_timestamp(id));
             CREATE VIEW seen AS SELECT id, snowflake_json(id) AS parts FROM events WHERE snowflake_within(id, '2020-01-01+00', now());
             INSERT INTO events SELECT snowflake_nextval(10000);
             CREATE TABLE parted (id snowflake PRIMARY KEY) PARTITION BY RANGE (id);
             CREATE TABLE parted_2026 PARTITION OF parted
                 FOR VALUES FROM (snowflake_min('2026-01-01+00')) TO (snowflake_min('2027-01-01+00'));
             CREATE TABLE refers (id bigint REFERENCES parted);",
        )
        .expect("a schema");
    dump_and_restore(&cluster, "postgres", "restored");
    let mut restored = connect_to(&cluster, "restored");
    assert_eq!(bigint(&mut restored, "SELECT count(*) FROM seen"), 10_000);
    let wrong = "SELECT count(*) FROM events WHERE created_at <> snowflake_timestamp(id) OR snowflake_from_base62(code) <> id";
    assert_eq!(bigint(&mut restored, wrong), 0);
    restored.batch_execute("SET enable_seqscan = off").expect("set");
    for (index, prepare) in [
        ("by_time", "SET enable_bitmapscan = off"),
        ("by_time_brin", "DROP INDEX by_time; SET enable_bitmapscan = on"),
    ] {
        restored.batch_execute(prepare).expect("prepared");
        let query = "SELECT count(*) FROM events WHERE snowflake_timestamp(id) >= '2020-01-01+00'";
        let plan = restored.query(&format!("EXPLAIN {query}"), &[]).expect("a plan");
        let lines: Vec<&str> = plan.iter().map(|line| line.get(0)).collect();
        assert!(lines.iter().any(|line| line.split(' ').any(|word| word == index)), "{lines:?}");
        assert_eq!(bigint(&mut restored, query), 10_000);
    }
}
