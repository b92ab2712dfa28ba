//! A dump of a database, and what it restores.

use crate::cluster::Cluster;
use crate::programs::output;

/// What pg_dump prints, but for the random word with which some versions bracket a dump.
#[track_caller]
pub fn dump_text(cluster: &Cluster, arguments: &[&str]) -> String {
    let text = output(cluster.client_program("pg_dump").args(arguments));
    let lines = text
        .lines()
        .filter(|line| !line.starts_with("\\restrict") && !line.starts_with("\\unrestrict"));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Dumps a database, restores it as a new one, and asserts that a dump of that says the same.
#[track_caller]
pub fn dump_and_restore(cluster: &Cluster, database: &str, restored: &str) {
    cluster.connect().batch_execute(&format!("CREATE DATABASE {restored}")).expect("a database");
    let file = tempfile::NamedTempFile::new().expect("a file");
    let path = file.path().to_str().expect("UTF-8");
    let dump = ["--format=custom", "--file", path, "--dbname", database];
    output(cluster.client_program("pg_dump").args(dump));
    let restore = ["--exit-on-error", "--dbname", restored, path];
    output(cluster.client_program("pg_restore").args(restore));
    let dump = |database| dump_text(cluster, &["--dbname", database]);
    let (original, copy) = (dump(database), dump(restored));
    let first = original.lines().zip(copy.lines()).find(|(one, other)| one != other);
    assert!(original == copy, "the dumps differ: {first:?}");
}
