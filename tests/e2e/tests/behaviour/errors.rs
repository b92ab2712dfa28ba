//! What an error says, and what it does not.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use postgres::error::SqlState;
use snowflake_e2e::{Cluster, NEXT, Register, Run, error_of};

/// An error that PostgreSQL raises while the extension calls it.
#[test]
fn an_error_of_postgresql_shows_no_backtrace() {
    let mut cluster = Cluster::builder().environment("RUST_BACKTRACE=1".into()).start();
    cluster.run(NEXT);
    cluster.stop();
    fs::set_permissions(Register::path(&cluster), fs::Permissions::from_mode(0o000))
        .expect("root, or the owner");
    cluster.start_again();
    let error = error_of(cluster.connect().query(NEXT, &[]));
    assert_eq!(
        (error.code(), error.detail()),
        (&SqlState::INSUFFICIENT_PRIVILEGE, None),
        "{error:?}"
    );
}
