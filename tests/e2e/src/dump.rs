//! A dump of a database, and what it restores.

use crate::cluster::Cluster;
use crate::programs::output;

/// Dumps a database, restores it as a new one, and asserts that a dump of that says the same.
#[track_caller]
pub fn dump_and_restore(cluster: &Cluster, database: &str, restored: &str) {
    let run =
        |program: &str, arguments: &[&str]| output(cluster.client_program(program).args(arguments));
    let dump = |database| {
        let text = run("pg_dump", &["--dbname", database]);
        // Some versions bracket a dump with a random word.
        let lines = text
            .lines()
            .filter(|line| !line.starts_with("\\restrict") && !line.starts_with("\\unrestrict"));
        lines.map(|line| format!("{line}\n")).collect::<String>()
    };
    cluster.connect().batch_execute(&format!("CREATE DATABASE {restored}")).expect("a database");
    let file = tempfile::NamedTempFile::new().expect("a file");
    let path = file.path().to_str().expect("UTF-8");
    run("pg_dump", &["--format=custom", "--file", path, "--dbname", database]);
    run("pg_restore", &["--exit-on-error", "--dbname", restored, path]);
    let (original, copy) = (dump(database), dump(restored));
    let first = original.lines().zip(copy.lines()).find(|(one, other)| one != other);
    assert!(original == copy, "the dumps differ: {first:?}");
}
