//! PostgreSQL's own regression tests, on a server that preloads the library and on one that does
//! not. `tools/test-postgresql` brings their files.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;

use snowflake_e2e::{Cluster, as_server_user, new_directory};

/// COPY, utility statements and transactions pass through hooks of the library, and nothing that
/// PostgreSQL tests may print something else then. A test that fails on both servers lacks
/// something here, and prints the same on both, too.
#[test]
fn a_server_that_preloads_the_library_prints_what_one_without_it_does() {
    let plain = printed(Cluster::builder().unset("shared_preload_libraries").start());
    let preloading = printed(Cluster::start());
    assert!(plain.len() > 200, "{} files", plain.len());
    let names = |results: &Results| results.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&plain), names(&preloading));
    let different: Vec<&String> = plain
        .iter()
        .filter(|(name, text)| preloading[*name] != **text)
        .map(|(name, _)| name)
        .collect();
    for name in &different {
        println!("{name}, without the library:\n{}\nwith it:\n{}", plain[*name], preloading[*name]);
    }
    assert!(different.is_empty(), "{different:?}");
    println!("{} files are the same", plain.len());
}

/// The output of each test.
type Results = BTreeMap<String, String>;

/// Runs the tests in a database of their own.
fn printed(cluster: Cluster) -> Results {
    let source = env::var("SNOWFLAKE_POSTGRESQL_TESTS").expect("the files of the tests");
    let source = Path::new(&source);
    let output = new_directory();
    // The tests create files where the server runs, so this runs as its user.
    let status = as_server_user(&cluster.programs().pg_regress())
        .args(["--no-locale", "--user=postgres", "--port=5432", "--max-concurrent-tests=20"])
        .arg("--host")
        .arg(cluster.directory())
        .arg("--bindir")
        .arg(cluster.programs().bin())
        .arg("--dlpath")
        .arg(source.join("libraries"))
        .arg("--inputdir")
        .arg(source)
        .arg("--outputdir")
        .arg(output.path())
        .arg("--schedule")
        .arg(source.join("parallel_schedule"))
        .status()
        .expect("pg_regress runs");
    println!("{status}");
    fs::read_dir(output.path().join("results"))
        .expect("results")
        .map(|entry| entry.expect("a file"))
        .filter(|entry| entry.path().extension().is_some_and(|extension| extension == "out"))
        .map(|entry| {
            let bytes = fs::read(entry.path()).expect("a file");
            let text = String::from_utf8_lossy(&bytes)
                .replace(&*output.path().to_string_lossy(), "OUTPUT");
            (entry.file_name().into_string().expect("UTF-8"), text)
        })
        .collect()
}
