//! Partitions that another session drops while their table is adopted.

use snowflake_e2e::{Run, eventually};

/// ALTER TABLE ONLY does not lock partitions of partitions, so others can drop them meanwhile. The server
/// goes on, whatever was found of them.
#[test]
fn partitions_that_are_dropped_meanwhile_do_no_harm() {
    let (cluster, mut client) = super::server();
    client.run(
        "CREATE TABLE events (id bigint GENERATED ALWAYS AS IDENTITY) PARTITION BY hash (id);
         CREATE TABLE part PARTITION OF events FOR VALUES WITH (MODULUS 1, REMAINDER 0)
             PARTITION BY hash (id);
         DO $$ BEGIN FOR i IN 0..399 LOOP
             EXECUTE format('CREATE TABLE leaf%s PARTITION OF part
                                 FOR VALUES WITH (MODULUS 400, REMAINDER %s)', i, i);
         END LOOP; END $$",
    );
    let mut other = cluster.connect();
    std::thread::scope(|scope| {
        let drops = scope.spawn(move || {
            for number in (0..400).rev() {
                // It might be what ends a deadlock.
                let _ = other.batch_execute(&format!("DROP TABLE blog.leaf{number}"));
            }
        });
        eventually("all are dropped", || {
            let adopt = "BEGIN; ALTER TABLE ONLY events ADD PRIMARY KEY (id); ROLLBACK";
            if let Err(error) = client.batch_execute(adopt) {
                assert!(error.as_db_error().is_some(), "the server ended: {error}");
                client.run("ROLLBACK");
            }
            drops.is_finished()
        });
        drops.join().expect("a session");
    });
    client.run("SELECT");
}
