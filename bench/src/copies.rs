//! COPY into a table with a primary key. PostgreSQL inserts many rows at a time only where no
//! default is volatile, `nextval()` excepted, and `snowflake_nextval()`, for which another function
//! stands in.

use std::time::Instant;

use postgres::Client;
use snowflake_e2e::{Cluster, bigint};

use crate::effort::Effort;
use crate::keys::{FREE, Key, NEXTVAL, NEXTVAL_CACHED, SNOWFLAKE};
use crate::quantiles::median;
use crate::report::{Bound, Report, Table};
use crate::server::{POSITION, empty};

/// Measures, and prints a table.
pub fn measure(
    cluster: &Cluster,
    client: &mut Client,
    keys: &[(String, &Key)],
    effort: &Effort,
    report: &mut Report,
) {
    let rows = effort.rows;
    let file = |name: &str| cluster.data().join(name).display().to_string();
    let (items, keyed) = (file("items"), file("keyed"));
    client
        .batch_execute(&format!(
            "COPY (SELECT n FROM generate_series(1, {rows}) AS n) TO '{items}'"
        ))
        .expect("a file");
    client
        .batch_execute(&format!(
            "COPY (SELECT n, n FROM generate_series(1, {rows}) AS n) TO '{keyed}'"
        ))
        .expect("a file");
    let mut measured: Vec<[Vec<f64>; 2]> = keys.iter().map(|_| Default::default()).collect();
    for round in 0..=effort.rounds {
        eprintln!("    COPY, round {round} of {}", effort.rounds);
        for ((table, key), [seconds, wal]) in keys.iter().zip(&mut measured) {
            empty(client, table);
            let copy = match key.name {
                FREE => format!("COPY {table} (id, item) FROM '{keyed}'"),
                _ => format!("COPY {table} (item) FROM '{items}'"),
            };
            let before = bigint(client, POSITION);
            let started = Instant::now();
            client.batch_execute(&copy).expect("rows");
            let took = started.elapsed().as_secs_f64();
            if round > 0 {
                seconds.push(took);
                wal.push((bigint(client, POSITION) - before) as f64);
            }
            let stored = bigint(client, &format!("SELECT count(*) FROM {table}"));
            assert_eq!(stored, i64::from(rows), "{}", key.name);
        }
    }
    let copied: Vec<(&str, [f64; 2])> = keys
        .iter()
        .zip(measured)
        .map(|((_, key), figures)| (key.name, figures.map(median)))
        .collect();
    let of = |name: &str| copied.iter().find(|(key, _)| *key == name).expect("measured").1;
    let title = format!(
        "COPY of a file with {rows} rows into a table with a primary key; the free key is in the \
         file; medians of {} rounds",
        effort.rounds
    );
    let mut table = Table::new(&title, &["key", "seconds", "of the free key", "WAL, MB"]);
    for (key, [seconds, wal]) in &copied {
        table.row(&[
            format!("`{key}`"),
            format!("{seconds:.2}"),
            format!("{:.2}", seconds / of(FREE)[0]),
            format!("{:.1}", wal / 1e6),
        ]);
    }
    table.print();
    let [seconds, wal] = of(SNOWFLAKE);
    for (what, value, limit) in [
        ("free key", seconds / of(FREE)[0], 1.05),
        ("nextval()", seconds / of(NEXTVAL)[0], 1.0),
        ("nextval(), cache 32", seconds / of(NEXTVAL_CACHED)[0], 1.0),
        ("free key, WAL", wal / of(FREE)[1], 1.02),
    ] {
        report.expect(
            format!("COPY with snowflake_nextval() / with {what}"),
            value,
            Bound::AtMost(limit),
        );
    }
}
