//! The keys of what COPY reads, by the default, are in the order of the input from each source in each
//! format.

use std::fs;
use std::io::Write;

use snowflake_e2e::{Cluster, NEXT, Run, assert_increasing, bigint, bigints, create_orders};

/// How many rows each file has: more than COPY keeps for one insertion.
const ROWS: u64 = 2500;

#[test]
fn keys_are_in_the_order_of_the_input_from_each_source_in_each_format() {
    let cluster = Cluster::start();
    create_orders(&cluster);
    let mut client = cluster.connect();
    client.run("ALTER TABLE orders ADD number bigint");
    for format in ["text", "csv", "binary"] {
        let path = cluster.directory().join(format).display().to_string();
        let numbers = format!("COPY (SELECT generate_series(1::bigint, {ROWS}))");
        client.run(&format!("{numbers} TO '{path}' (FORMAT {format})"));
        for source in [format!("'{path}'"), format!("PROGRAM 'cat {path}'"), "STDIN".into()] {
            let before = bigint(&mut client, NEXT);
            let copy = format!("COPY orders (number) FROM {source} (FORMAT {format})");
            if source == "STDIN" {
                let mut writer = client.copy_in(&copy).expect("a copy");
                writer.write_all(&fs::read(&path).expect("a file")).expect("sent");
                assert_eq!(writer.finish().expect("rows"), ROWS);
            } else {
                client.run(&copy);
            }
            let ids = bigints(&mut client, "SELECT id FROM orders ORDER BY number");
            assert_eq!(ids.len() as u64, ROWS, "{source}");
            let after = bigint(&mut client, NEXT);
            assert_increasing(&[vec![before], ids, vec![after]].concat());
            client.run("TRUNCATE orders");
        }
    }
}
