//! A client that does not read what the server sends stops nobody else.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::Duration;

use postgres::NoTls;
use snowflake_e2e::{Cluster, DeafClient, NEXT, Register, Run, eventually, within};

/// Takes an ID in another session, and returns the SQLSTATE of the error, if it is one.
#[track_caller]
fn assert_others_are_answered(cluster: &Cluster) -> Option<String> {
    let config = cluster.config();
    let answer = within(Duration::from_secs(20), move || {
        let mut client = config.connect(NoTls).expect("a session");
        let answer = client.query(NEXT, &[]);
        answer.err().and_then(|error| error.code().map(|code| code.code().to_owned()))
    });
    answer.expect("another session gets an answer within 20 seconds")
}

#[test]
fn others_take_ids_while_the_register_is_created() {
    let cluster = Cluster::start();
    let _client = DeafClient::take_an_id_when_full(&cluster);
    cluster.assert_logged("created the register");
    assert_eq!(assert_others_are_answered(&cluster), None);
}

#[test]
fn others_take_ids_while_the_clock_steps_ahead() {
    let cluster = Cluster::builder().fake_clock().start();
    cluster.run(NEXT);
    cluster.set_clock("+1h");
    let _client = DeafClient::take_an_id_when_full(&cluster);
    cluster.assert_logged("the clock has jumped ahead");
    // Beyond what is reserved.
    cluster.set_clock("+2h");
    assert_eq!(assert_others_are_answered(&cluster), None);
}

/// PostgreSQL raises an error of its own: the register cannot be opened.
#[test]
fn others_are_answered_while_an_error_of_postgresql_is_reported() {
    let mut cluster = Cluster::start();
    cluster.run(NEXT);
    cluster.stop();
    let register = Register::path(&cluster);
    let set_mode = |mode| {
        fs::set_permissions(&register, Permissions::from_mode(mode)).expect("root, or the owner");
    };
    set_mode(0o000);
    cluster.start_again();
    let _client = DeafClient::take_an_id_when_full(&cluster);
    cluster.assert_logged("could not open file");
    assert_eq!(assert_others_are_answered(&cluster).as_deref(), Some("42501"));
    set_mode(0o600);
    assert_eq!(assert_others_are_answered(&cluster), None);
}

/// The statement that writes a deleted register again waits until every process has closed the
/// file. The log names one that waits for its client, and others take IDs meanwhile.
#[test]
fn others_take_ids_while_a_deleted_register_is_written_again() {
    let cluster = Cluster::start();
    let client = DeafClient::take_an_id_when_full(&cluster);
    fs::remove_file(Register::path(&cluster)).expect("root, or the owner");
    let mut operator = cluster.connect();
    let written = thread::spawn(move || {
        operator.batch_execute("SELECT snowflake_set_floor(clock_timestamp() + interval '1min')")
    });
    let said = format!("still waiting for backend with PID {}", client.pid());
    eventually("the log names it", || {
        assert!(!written.is_finished(), "it did not wait");
        cluster.log().contains(&said)
    });
    assert_eq!(assert_others_are_answered(&cluster), None);
    cluster.run(&format!("SELECT pg_terminate_backend({})", client.pid()));
    written.join().expect("a thread").expect("a floor");
    cluster.run("SELECT snowflake_floor()");
}

/// A session that takes an ID is not sent messages for the administrator.
#[test]
fn no_client_sees_what_is_for_the_log() {
    let cluster = Cluster::builder().fake_clock().start();
    let (mut client, notices) = cluster.connect_with_notices("postgres");
    client.run("SET client_min_messages = log");
    for clock in ["+0", "+1h", "-1h"] {
        cluster.set_clock(clock);
        client.run(NEXT);
    }
    drop(client);
    assert_eq!(notices.iter().collect::<Vec<_>>(), []);
    for said in ["created the register", "the clock has jumped ahead"] {
        cluster.assert_logged(said);
    }
}
