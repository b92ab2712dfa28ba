//! The library of one release with the SQL of the other: it works, or says what is wrong.

use snowflake_e2e::{Cluster, NEXT, bigint, call_everything, error_of};

use super::{old_cluster, start_with_new_library, start_with_old_library};

#[test]
fn the_older_sql_with_the_newer_library() {
    let mut cluster = old_cluster();
    cluster.stop();
    start_with_new_library(&mut cluster);
    call_everything(&cluster, &mut cluster.connect());
}

/// The files were replaced, and databases updated, but the server was not restarted, or has the
/// older library again.
#[test]
fn the_newer_sql_with_the_older_library() {
    let mut cluster = Cluster::builder().fake_clock().start();
    cluster.stop();
    start_with_old_library(&mut cluster);
    call_everything(&cluster, &mut cluster.connect());
}

/// An update before the restart fails as a whole, and says what is lacking. The scripts of the newer
/// release are there, as after the installation of its package: `tools/test-upgrade` puts them there.
#[test]
fn an_update_needs_the_newer_library() {
    let mut cluster = Cluster::builder().fake_clock().create();
    cluster.start_again();
    cluster
        .connect()
        .batch_execute("CREATE EXTENSION snowflake VERSION '0.1.0'")
        .expect("the older SQL");
    cluster.stop();
    start_with_old_library(&mut cluster);
    let mut client = cluster.connect();
    let error = error_of(client.batch_execute("ALTER EXTENSION snowflake UPDATE TO '0.2.0'"));
    assert!(error.message().starts_with("could not find function"), "{error}");
    let version = "SELECT count(*) FROM pg_extension WHERE extversion = '0.1.0'";
    assert_eq!(bigint(&mut client, version), 1);
    assert!(bigint(&mut client, NEXT) > 0);
}
