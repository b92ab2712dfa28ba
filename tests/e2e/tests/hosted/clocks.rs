//! The server's clock is set while it runs, in both directions.

use snowflake_e2e::{Cluster, Journal, NEXT};

use super::{plain_server, start};

const STEPS: [&str; 8] = ["-10s", "-1h", "+0", "+1h", "-5s", "+2h", "-30d", "+0"];

#[test]
fn no_step_of_the_clock_brings_an_id_back() {
    let cluster = start(plain_server().fake_clock());
    let journal = Journal::new();
    journal.under_load(&cluster.config(), 4, NEXT, || {
        for step in STEPS {
            journal.wait_for(3000);
            cluster.set_clock(step);
        }
        journal.wait_for(20_000);
    });
    println!("{} steps, {} IDs", STEPS.len(), journal.check());
}

/// Returns the lead of the next ID over the clock, in milliseconds.
fn lead(cluster: &Cluster) -> i64 {
    let query = "SELECT floor(extract(epoch FROM snowflake_timestamp(snowflake_nextval()) - clock) * 1000)::bigint
                 FROM (SELECT clock_timestamp() AS clock OFFSET 0) AS c";
    cluster.bigint(query)
}

#[test]
fn an_id_has_the_time_of_the_clock_unless_that_was_set_back() {
    let cluster = start(plain_server().fake_clock());
    for step in ["+0", "+1h", "+3h"] {
        cluster.set_clock(step);
        for _ in 0..100 {
            // The reading before the call might be from any earlier time; the call itself is quick.
            let lead = lead(&cluster);
            assert!((-3..1000).contains(&lead), "{lead} ms");
        }
    }
    cluster.set_clock("+0");
    let lead = lead(&cluster);
    assert!((10_790_000..=10_800_000).contains(&lead), "{lead} ms");
}
