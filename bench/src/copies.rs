//! COPY into a table with a primary key. PostgreSQL inserts many rows at a time only where no
//! default is volatile, `nextval()` excepted.

use std::time::Instant;

use postgres::Client;
use snowflake_e2e::{Cluster, bigint};

use crate::effort::Effort;
use crate::keys::{FREE, Key, SNOWFLAKE};
use crate::quantiles::median;
use crate::report::Table;
use crate::server::{POSITION, empty};

/// IDs that are taken before, and pasted in front of the rows.
const PASTED: &str = "snowflake_nextval(count), pasted";

/// Measures, and prints a table.
pub fn measure(cluster: &Cluster, client: &mut Client, keys: &[(String, &Key)], effort: &Effort) {
    let rows = effort.rows;
    let file = |name: &str| cluster.data().join(name).display().to_string();
    let (items, pasted) = (file("items"), file("pasted"));
    client
        .batch_execute(&format!(
            "COPY (SELECT n FROM generate_series(1, {rows}) AS n) TO '{items}'"
        ))
        .expect("a file");
    let mut candidates: Vec<(&str, &str)> =
        keys.iter().map(|(table, key)| (key.name, table.as_str())).collect();
    let (table, _) = keys.iter().find(|(_, key)| key.name == SNOWFLAKE).expect("a table");
    candidates.push((PASTED, table));
    let mut measured: Vec<[Vec<f64>; 3]> = candidates.iter().map(|_| Default::default()).collect();
    for round in 0..=effort.rounds {
        eprintln!("    COPY, round {round} of {}", effort.rounds);
        for ((name, table), [made, copied, wal]) in candidates.iter().zip(&mut measured) {
            empty(client, table);
            let keys = match *name {
                FREE => Some(format!("n, n FROM generate_series(1, {rows}) AS n")),
                PASTED => Some(format!("snowflake_nextval({rows}), generate_series(1, {rows})")),
                _ => None,
            };
            let before = bigint(client, POSITION);
            let making = Instant::now();
            let making = keys.as_ref().map(|keys| {
                client
                    .batch_execute(&format!("COPY (SELECT {keys}) TO '{pasted}'"))
                    .expect("a file");
                making.elapsed().as_secs_f64()
            });
            let copying = Instant::now();
            let copy = match keys {
                Some(_) => format!("COPY {table} (id, item) FROM '{pasted}'"),
                None => format!("COPY {table} (item) FROM '{items}'"),
            };
            client.batch_execute(&copy).expect("rows");
            let copying = copying.elapsed().as_secs_f64();
            if round > 0 {
                made.extend(making);
                copied.push(copying);
                wal.push((bigint(client, POSITION) - before) as f64);
            }
            let stored = bigint(client, &format!("SELECT count(*) FROM {table}"));
            assert_eq!(stored, i64::from(rows), "{name}");
        }
    }
    let title = format!(
        "COPY of a file with {rows} rows into a table with a primary key; free and pasted keys are \
         written into the file first; medians of {} rounds",
        effort.rounds
    );
    let columns = ["key", "writing a file with keys, seconds", "COPY, seconds", "WAL, MB"];
    let mut report = Table::new(&title, &columns);
    for ((name, _), figures) in candidates.iter().zip(measured) {
        let [made, copied, wal] = figures;
        // Without a file with keys, the default of the column makes them.
        let made = if made.is_empty() { "–".to_owned() } else { format!("{:.2}", median(made)) };
        report.row(&[
            format!("`{name}`"),
            made,
            format!("{:.2}", median(copied)),
            format!("{:.1}", median(wal) / 1e6),
        ]);
    }
    report.print();
}
