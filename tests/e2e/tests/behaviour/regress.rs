//! PostgreSQL's own regression test driver, over tests/pg_regress.

use std::fs;
use std::path::Path;
use std::process::Command;

use snowflake_e2e::Cluster;

#[test]
fn the_files_of_pg_regress_print_what_is_expected() {
    let cluster = Cluster::start();
    cluster.connect().batch_execute("CREATE DATABASE regress").expect("a database");
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/").join("pg_regress");
    let mut tests: Vec<String> = fs::read_dir(tree.join("sql"))
        .expect("tests/pg_regress/sql")
        .map(|entry| {
            entry
                .expect("a file")
                .path()
                .file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        })
        .filter(|name| name != "setup")
        .collect();
    tests.sort();
    assert!(!tests.is_empty());
    let output = tempfile::tempdir().expect("a directory for temporary files");
    let status = Command::new(cluster.programs().pg_regress())
        .args(["--use-existing", "--dbname=regress", "--user=postgres", "--port=5432", "--host"])
        .arg(cluster.directory())
        .arg("--bindir")
        .arg(cluster.programs().bin())
        .arg("--inputdir")
        .arg(&tree)
        .arg("--outputdir")
        .arg(output.path())
        .arg("setup")
        .args(&tests)
        .status()
        .expect("pg_regress runs");
    let differences =
        fs::read_to_string(output.path().join("regression.diffs")).unwrap_or_default();
    if let Ok(keep) = std::env::var("SNOWFLAKE_REGRESS_RESULTS") {
        let copied =
            Command::new("cp").arg("-rT").arg(output.path().join("results")).arg(keep).status();
        assert!(copied.expect("cp runs").success());
    }
    assert!(status.success(), "{differences}");
}
