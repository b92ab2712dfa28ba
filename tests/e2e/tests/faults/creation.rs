//! The register cannot be created: nothing is issued, nothing is left behind, and nobody else is
//! stopped.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use postgres::NoTls;
use postgres::error::SqlState;
use snowflake_e2e::{Cluster, Journal, Register, error_of, within};

use super::{NEXT, Preloaded};

#[test]
fn an_error_that_is_caught_does_not_stop_checkpoints() {
    let cluster = Cluster::start();
    let global = cluster.data().join("global");
    let mode = |mode| {
        fs::set_permissions(&global, fs::Permissions::from_mode(mode)).expect("root, or the owner")
    };
    mode(0o500);
    let mut client = cluster.connect();
    let mut transaction = client.transaction().expect("a transaction");
    transaction
        .batch_execute(
            "DO $$ BEGIN
                 PERFORM snowflake_nextval();
                 ASSERT false, 'an ID without a register';
             EXCEPTION WHEN insufficient_privilege THEN NULL;
             END $$",
        )
        .expect("caught");
    mode(0o700);
    let config = cluster.config();
    let checkpoint = within(Duration::from_secs(30), move || {
        config.connect(NoTls).expect("a session").batch_execute("CHECKPOINT")
    });
    checkpoint.expect("a checkpoint ends while the transaction goes on").expect("a checkpoint");
    transaction.batch_execute(NEXT).expect("an ID");
    transaction.commit().expect("committed");
}

#[test]
fn a_full_disk_leaves_nothing_behind() {
    // Answers writes to the register as a full disk does, while that file is there.
    let library = Preloaded::new("full_disk");
    let mut cluster = Cluster::builder().environment(library.environment()).start();
    let full = cluster.data().join("full");
    fs::write(&full, "").expect("root, or the owner");
    let mut client = cluster.connect();
    for _ in 0..2 {
        let error = error_of(client.query(NEXT, &[]));
        assert_eq!(error.code(), &SqlState::DISK_FULL, "{error}");
        assert!(!Register::path(&cluster).exists());
        client.batch_execute("CHECKPOINT").expect("nobody asks it to sync a file that is gone");
    }
    fs::remove_file(&full).expect("root, or the owner");
    let journal = Journal::new();
    journal.take(&mut client, NEXT).expect("an ID");
    client.batch_execute("CHECKPOINT").expect("a checkpoint");
    drop(client);
    cluster.kill();
    cluster.start_again();
    journal.take(&mut cluster.connect(), NEXT).expect("an ID");
    journal.check();
}
