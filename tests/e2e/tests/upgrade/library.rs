//! The library of one release with the SQL of the other: it works, or says what is wrong.

use snowflake_e2e::{Cluster, NEXT, bigint, call_everything, value};

use super::{former_cluster, start_with_former_library, start_with_new_library};

#[test]
fn the_newer_library_answers_the_former_sql() {
    let mut cluster = former_cluster();
    cluster.stop();
    start_with_new_library(&mut cluster);
    call_everything(&cluster, &mut cluster.connect());
}

/// The files were replaced, and databases updated, but the server was not restarted, or has the
/// former library again.
#[test]
fn the_former_library_answers_the_newer_sql() {
    let mut cluster = Cluster::builder().fake_clock().start();
    cluster.stop();
    start_with_former_library(&mut cluster);
    call_everything(&cluster, &mut cluster.connect());
}

/// An update before the restart fails as a whole where it needs a function that the former library
/// does not have, and says so. The scripts of the newer release are there, as after the
/// installation of its package: `tools/test-upgrade` puts them there.
#[test]
fn an_update_before_the_restart_works_or_fails_as_a_whole() {
    let mut cluster = former_cluster();
    cluster.stop();
    start_with_new_library(&mut cluster);
    let newest = "SELECT default_version FROM pg_available_extensions WHERE name = 'snowflake'";
    let newest: String = cluster.value(newest);
    cluster.stop();
    start_with_former_library(&mut cluster);
    let mut client = cluster.connect();
    let installed = "SELECT extversion FROM pg_extension WHERE extname = 'snowflake'";
    let former: String = value(&mut client, installed);
    assert_ne!(former, newest);
    let updated = client.batch_execute(&format!("ALTER EXTENSION snowflake UPDATE TO '{newest}'"));
    let expected = match updated {
        Ok(()) => newest,
        Err(error) => {
            let error = error.as_db_error().expect("an error of the server");
            assert!(error.message().starts_with("could not find function"), "{error}");
            former
        }
    };
    assert_eq!(value::<String>(&mut client, installed), expected);
    assert!(bigint(&mut client, NEXT) > 0);
}
