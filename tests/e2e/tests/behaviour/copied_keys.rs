//! The keys of what COPY reads, by the default: they are in the order of the input from each source
//! in each format, and are this library's.

use std::fs;
use std::io::Write;
use std::process::Command;

use snowflake_e2e::{
    Cluster, NEXT, Run, assert_increasing, bigint, bigints, create_orders, new_directory,
};

/// The number of rows of each file: more than COPY keeps for one insertion.
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

/// pgEdge's library has a function of the same name, and might be loaded before.
#[test]
fn keys_are_not_those_of_a_library_that_is_loaded_before() {
    let directory = new_directory();
    let [source, library] = ["other.c", "other.so"].map(|name| directory.path().join(name));
    fs::write(&source, "long snowflake_nextval(void *call) { return 7; }").expect("a file");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source);
    assert!(cc.status().expect("cc runs").success());
    let before = format!("LD_PRELOAD={}", library.display());
    let cluster = Cluster::builder().environment(before).start();
    create_orders(&cluster);
    cluster.run("ALTER TABLE orders ADD item text; COPY orders (item) FROM PROGRAM 'echo book'");
    assert_ne!(cluster.bigint("SELECT id FROM orders"), 7);
}
