//! Epoch and widths that are configured: what IDs mean, and what is generated.

use snowflake_e2e::{Cluster, bigint};

/// Asserts that the server, as it is configured, decodes the ID to these parts and composes it from
/// them.
fn assert_known(
    cluster: &Cluster,
    id: i64,
    timestamp: &str,
    datacenter_id: i32,
    worker_id: i32,
    sequence: i32,
) {
    let mut client = cluster.connect();
    let row = client
        .query_one(
            "SELECT timestamp::text, datacenter_id, worker_id, sequence, id FROM \
             snowflake_parse($1)",
            &[&id],
        )
        .expect("an ID");
    assert_eq!(row.get::<_, String>(0), timestamp);
    assert_eq!(row.get::<_, i32>(1), datacenter_id);
    assert_eq!(row.get::<_, i32>(2), worker_id);
    assert_eq!(row.get::<_, i32>(3), sequence);
    assert_eq!(row.get::<_, i64>(4), id);
    let make =
        format!("SELECT snowflake_make('{timestamp}', {datacenter_id}, {worker_id}, {sequence})");
    assert_eq!(bigint(&mut client, &make), id);
}

#[test]
fn an_epoch_is_configured_in_every_form() {
    for epoch in ["1420070400000", "2015-01-01T00:00:00Z", "2015-01-01T01:00:00+01:00"] {
        let cluster = Cluster::builder().set("snowflake.epoch", epoch).start();
        assert_known(&cluster, 175928847299117063, "2016-04-30 11:18:25.796+00", 1, 0, 7);
    }
}

#[test]
fn generated_ids_carry_the_configured_layout() {
    let cluster = Cluster::builder()
        .set("snowflake.epoch", "2024-01-01T00:00:00Z")
        .set("snowflake.datacenter_bits", "0")
        .set("snowflake.worker_bits", "10")
        .set("snowflake.sequence_bits", "8")
        // A part of width 0 need not be set.
        .unset("snowflake.datacenter_id")
        .set("snowflake.worker_id", "1023")
        .start();
    let mut client = cluster.connect();
    let row = client
        .query_one(
            "SELECT datacenter_id, worker_id, timestamp BETWEEN clock_timestamp() - interval '1 \
             s' AND clock_timestamp(),
                    id >> 18 = floor(extract(epoch FROM timestamp - '2024-01-01 00:00:00+00') * 1000)
             FROM snowflake_parse(snowflake_nextval())",
            &[],
        )
        .expect("an ID");
    assert_eq!(row.get::<_, i32>(0), 0);
    assert_eq!(row.get::<_, i32>(1), 1023);
    assert!(row.get::<_, bool>(2));
    assert!(row.get::<_, bool>(3));
}
