//! A standby whose clock is wrong is promoted. While it streamed, it learned its upstream's clock.

use std::time::Duration;
use std::{fs, thread};

use postgres::error::SqlState;
use snowflake_e2e::{
    Cluster, Journal, Register, bigint, error_of, eventually, seconds_after, signal,
};

use super::{NEXT, archive};

const FORTY_DAYS: &str = "+40d";

fn primary() -> Cluster {
    let primary = Cluster::builder().fake_clock().start();
    primary.connect().batch_execute(NEXT).expect("an ID");
    primary
}

/// A primary whose register seems to be of another machine, until it makes the next reservation.
fn primary_on_another_machine() -> Cluster {
    let mut primary = primary();
    primary.stop();
    Register::of(&primary).written_on_another_boot().write();
    primary.start_again();
    primary
}

/// A standby of `upstream` whose clock is off by that much, once it knows its upstream's clock.
fn standby(upstream: &Cluster, offset: &str) -> Cluster {
    let mut standby = upstream.base_backup(&["--write-recovery-conf"]);
    standby.set_clock(offset);
    standby.start_again();
    let mut client = standby.connect();
    eventually("a message has come", || {
        let row = client
            .query_one("SELECT detail FROM snowflake_check() WHERE name = 'clock'", &[])
            .expect("a row");
        let detail: String = row.get(0);
        // Refused for the register, or compared with the upstream.
        detail.contains("last record") || detail.contains("that of the server that this one follow")
    });
    standby
}

#[track_caller]
fn assert_refused(standby: &Cluster, message: &str) {
    for statement in ["SELECT snowflake_set_floor(now() + interval '1 minute')", NEXT] {
        let error = error_of(standby.connect().query(statement, &[]));
        assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
        assert!(error.message().contains(message), "{error}");
    }
}

#[track_caller]
fn assert_jump_of_forty_days_is_refused(standby: &Cluster) {
    const JUMPED: &str = "the clock has jumped ahead by ";
    assert_refused(standby, JUMPED);
    let error = error_of(standby.connect().query(NEXT, &[]));
    let days = seconds_after(JUMPED, error.message()) / 86_400.0;
    assert!((39.93..40.05).contains(&days), "{error}");
}

/// By how much the newest ID is ahead of the server's clock, in days.
fn days_ahead(cluster: &Cluster) -> i64 {
    bigint(
        &mut cluster.connect(),
        "SELECT extract(day FROM snowflake_timestamp(snowflake_nextval()) - now())::bigint",
    )
}

/// The walreceivers that try to connect after the primary's death do not erase what is known.
#[test]
fn a_clock_forty_days_ahead_is_refused_until_it_is_confirmed() {
    let mut primary = primary_on_another_machine();
    let mut standby = standby(&primary, FORTY_DAYS);
    primary.kill();
    thread::sleep(Duration::from_secs(60));
    standby.promote();
    let message = "ahead of that of the server that this one followed";
    assert_refused(&standby, message);
    // After a crash, it is still refused, with what the crash has left of the knowledge.
    standby.kill();
    standby.start_again();
    assert_jump_of_forty_days_is_refused(&standby);
    let mut client = standby.connect();
    assert!(
        client
            .query_one("SELECT snowflake_confirm('clock')", &[])
            .expect("a confirmation")
            .get::<_, bool>(0)
    );
    assert_eq!(days_ahead(&standby), 0);
}

#[test]
fn a_confirmation_right_after_a_promotion_works() {
    let mut primary = primary_on_another_machine();
    let standby = standby(&primary, FORTY_DAYS);
    primary.kill();
    standby.promote();
    let confirmed = standby.connect().query_one("SELECT snowflake_confirm('clock')", &[]);
    assert!(confirmed.expect("a confirmation").get::<_, bool>(0));
    assert_eq!(days_ahead(&standby), 0);
    let log = standby.log();
    assert!(!log.contains("has followed no other one"), "{log}");
}

#[test]
fn a_clock_that_is_set_right_needs_no_confirmation() {
    let mut primary = primary();
    let standby = standby(&primary, FORTY_DAYS);
    primary.kill();
    standby.promote();
    assert_refused(&standby, "ahead of that of the server");
    standby.set_clock("+0");
    standby.connect().batch_execute(NEXT).expect("an ID");
}

#[test]
fn a_clock_three_seconds_ahead_or_an_hour_behind_is_logged() {
    for (offset, difference) in [("+3s", "3 seconds ahead"), ("-1h", "1 hour behind")] {
        let mut primary = primary();
        let standby = standby(&primary, offset);
        let journal = Journal::new();
        journal.take(&mut primary.connect(), NEXT).expect("an ID");
        let mut reader = standby.connect();
        let floor = |client: &mut postgres::Client| -> Option<String> {
            client.query_one("SELECT snowflake_floor()::text", &[]).expect("a floor").get(0)
        };
        let expected = floor(&mut primary.connect());
        eventually("the floor is there", || floor(&mut reader) == expected);
        primary.kill();
        standby.promote();
        journal.take(&mut standby.connect(), NEXT).expect("an ID");
        journal.check();
        let log = standby.log();
        let line = log
            .lines()
            .find(|line| line.contains("snowflake IDs continue after a change: timeline 1 to 2"))
            .unwrap_or_else(|| panic!("no line in the log\n{log}"));
        assert!(line.contains("LOG:"), "{line}");
        assert!(log.contains("and the margin 00:00:05"), "{log}");
        // Within a quarter of a second of what it is.
        let by = seconds_after("The clock is ", &log);
        let exact = if offset == "+3s" { 3.0 } else { 3600.0 };
        assert!((by - exact).abs() < 0.25, "{difference}: {by} s");
        let direction = if offset == "+3s" { "ahead of that" } else { "behind that" };
        assert!(log.contains(direction), "{log}");
        assert!(!log.contains("was set back"), "{log}");
    }
}

/// What it had learned is gone: then the rule of a restart holds.
#[test]
fn after_a_restart_the_clock_is_judged_by_the_register() {
    let mut primary = primary();
    let mut standby = standby(&primary, FORTY_DAYS);
    let mut reader = standby.connect();
    eventually("the register is there", || {
        bigint(&mut reader, "SELECT count(snowflake_floor())") == 1
    });
    primary.connect().batch_execute("CHECKPOINT").expect("a checkpoint");
    primary.kill();
    eventually("all is replayed", || {
        let caught_up =
            "SELECT (pg_last_wal_replay_lsn() = pg_last_wal_receive_lsn())::int::bigint";
        bigint(&mut reader, caught_up) == 1
    });
    reader.batch_execute("CHECKPOINT").expect("a restartpoint");
    drop(reader);
    standby.stop();
    Register::of(&standby).written_on_another_boot().write();
    standby.start_again();
    standby.promote();
    // Forty days are beyond max_forward_step, which is logged, and not beyond a year.
    standby.connect().batch_execute(NEXT).expect("an ID");
    let log = standby.log();
    assert!(log.contains("ahead of the last record of snowflake IDs"), "{log}");
    assert!(log.contains("This server has followed no other one since it started"), "{log}");
}

/// A primary dies, and a standby takes its place that got its WAL from an archive, and so no
/// messages. Both, since the archive is beside the dead one's data.
fn promoted_from_an_archive(clock: &str) -> (Cluster, Cluster) {
    let mut primary = Cluster::builder().fake_clock().set("archive_mode", "on").start();
    let archive = archive(&primary);
    let mut standby = primary.base_backup(&[]);
    standby.configure(&[("restore_command", &format!("cp {}/%f %p", archive.display()))]);
    fs::write(standby.data().join("standby.signal"), "").expect("root, or the owner");
    standby.set_clock(clock);
    let mut client = primary.connect();
    client.batch_execute("CREATE TABLE arrived (); SELECT snowflake_nextval()").expect("an ID");
    client.batch_execute("SELECT pg_switch_wal()").expect("switched");
    standby.start_again();
    let mut reader = standby.connect();
    eventually("the WAL is replayed", || reader.query("SELECT FROM arrived", &[]).is_ok());
    primary.kill();
    standby.promote();
    (standby, primary)
}

/// Here, the machine is the one that wrote the register, so that a jump is known exactly.
#[test]
fn without_a_primary_the_clock_is_judged_by_the_register() {
    let (standby, _primary) = promoted_from_an_archive(FORTY_DAYS);
    assert_jump_of_forty_days_is_refused(&standby);
    for (clock, line) in
        [("+20s", "LOG:  the clock has jumped ahead by "), ("-1h", "timeline 1 to 2")]
    {
        let (standby, _primary) = promoted_from_an_archive(clock);
        standby.connect().batch_execute(NEXT).expect("an ID");
        let log = standby.log();
        assert!(log.contains(line), "{log}");
        assert!(!log.contains("was set back"), "{log}");
        assert!(log.contains("This server has followed no other one since it started"), "{log}");
        assert!(
            log.contains("If it was restored from a backup while the original runs on"),
            "{log}"
        );
    }
}

/// The background worker's process.
fn worker(standby: &Cluster) -> Option<i64> {
    standby.background_worker("snowflake upstream clock")
}

/// Ends the background worker, and waits until the server has started it again.
fn restart_worker(standby: &Cluster) {
    let first = worker(standby).expect("it runs on a standby");
    signal(first, "TERM");
    eventually("the worker is started again", || worker(standby).is_some_and(|pid| pid != first));
    // It looks at once, and then five times a second.
    thread::sleep(Duration::from_secs(1));
}

/// A primary that sends nothing while nothing happens, and whose standbys do not ask it.
fn idle_primary() -> Cluster {
    let primary = Cluster::builder()
        .fake_clock()
        .set("wal_sender_timeout", "0")
        .set("wal_receiver_timeout", "0")
        .set("snowflake.max_forward_step", "3s")
        .start();
    primary.connect().batch_execute(NEXT).expect("an ID");
    primary
}

/// The age of the last message is no difference of clocks.
#[test]
fn a_worker_that_restarts_on_an_idle_standby_learns_nothing_wrong() {
    let mut primary = idle_primary();
    let standby = standby(&primary, "+0");
    let age = "SELECT extract(epoch FROM now() - last_msg_receipt_time)::bigint
               FROM pg_stat_wal_receiver";
    let mut reader = standby.connect();
    eventually("no message comes", || bigint(&mut reader, age) > 4);
    restart_worker(&standby);
    let agrees = "SELECT (detail LIKE 'It agrees %')::int::bigint FROM snowflake_check()
                  WHERE name = 'clock'";
    assert_eq!(bigint(&mut reader, agrees), 1);
    primary.kill();
    standby.promote();
    standby.connect().batch_execute(NEXT).expect("an ID");
}

/// What was confirmed stays so, also if the first ID is taken later than `max_forward_step` would allow
/// a jump to be.
#[test]
fn a_confirmation_lasts_until_the_first_id() {
    let mut primary = idle_primary();
    let standby = standby(&primary, "+1h");
    primary.kill();
    standby.promote();
    let confirmed = standby.connect().query_one("SELECT snowflake_confirm('clock')", &[]);
    assert!(confirmed.expect("a confirmation").get::<_, bool>(0));
    thread::sleep(Duration::from_secs(5));
    standby.connect().batch_execute(NEXT).expect("an ID");
}

/// A worker that could not run for some seconds counts the age of the message that came meanwhile: by
/// that, the upstream's clock has gone on. The upstream's clock is an hour ahead, to show when the
/// worker has looked.
#[test]
fn a_message_that_is_looked_at_late_counts_with_its_age() {
    let primary = idle_primary();
    let standby = standby(&primary, "+0");
    let mut reader = standby.connect();
    let worker = worker(&standby).expect("it runs on a standby");
    let sender = bigint(&mut primary.connect(), "SELECT pid::bigint FROM pg_stat_replication");
    signal(worker, "STOP");
    primary.set_clock("+1h");
    let sent = "SELECT (last_msg_send_time > now() + interval '30 minutes')::int::bigint
                FROM pg_stat_wal_receiver";
    eventually("a message has come", || {
        let emit = "SELECT pg_logical_emit_message(true, '', '')";
        primary.connect().batch_execute(emit).expect("a superuser");
        bigint(&mut reader, sent) == 1
    });
    signal(sender, "STOP");
    thread::sleep(Duration::from_secs(5));
    signal(worker, "CONT");
    let mut behind = None;
    eventually("the worker has looked", || {
        let query = "SELECT (extract(epoch FROM substring(detail FROM 'It is (.*) behind')::interval) * 1000)::bigint
                     FROM snowflake_check() WHERE name = 'clock'";
        behind = reader.query_one(query, &[]).expect("a row").get::<_, Option<i64>>(0);
        behind.is_some()
    });
    signal(sender, "CONT");
    let by = behind.expect("a difference");
    assert!((by - 3_600_000).abs() < 2500, "{by} ms");
}

#[test]
fn what_a_worker_learned_outlives_it() {
    let mut primary = idle_primary();
    let standby = standby(&primary, "+1h");
    restart_worker(&standby);
    primary.kill();
    standby.promote();
    assert_refused(&standby, "ahead of that of the server that this one followed");
}

/// A standby can stream without a message: it has all of the WAL, and nothing happens.
#[test]
fn without_a_message_the_log_does_not_deny_that_it_streamed() {
    let mut primary = idle_primary();
    let mut standby = standby(&primary, "+0");
    let switch = "SELECT pg_switch_wal()";
    let unknown = "SELECT (detail LIKE '%no message has come%')::int::bigint
                   FROM snowflake_check() WHERE name = 'clock'";
    let streams = "SELECT count(*) FROM pg_stat_wal_receiver WHERE status = 'streaming'";
    let caught_up = "SELECT (pg_last_wal_replay_lsn() = pg_last_wal_receive_lsn())::int::bigint";
    eventually("it streams and has got no message", || {
        primary.connect().batch_execute(switch).expect("a superuser");
        let mut reader = standby.connect();
        eventually("all is replayed", || bigint(&mut reader, caught_up) == 1);
        drop(reader);
        standby.stop();
        standby.start_again();
        let mut reader = standby.connect();
        eventually("it streams", || bigint(&mut reader, streams) == 1);
        thread::sleep(Duration::from_secs(1));
        bigint(&mut reader, unknown) == 1
    });
    assert_not_compared(&mut primary, &standby);
}

/// Nobody looks at the messages.
#[test]
fn without_the_worker_the_log_does_not_deny_that_it_streamed() {
    let mut primary = Cluster::builder().fake_clock().set("max_worker_processes", "0").start();
    primary.connect().batch_execute(NEXT).expect("an ID");
    let standby = primary.standby();
    let heard = "SELECT count(*) FROM pg_stat_wal_receiver WHERE latest_end_lsn > '0/0'";
    let mut reader = standby.connect();
    eventually("it streams, and has heard from the primary", || bigint(&mut reader, heard) == 1);
    assert_not_compared(&mut primary, &standby);
}

#[track_caller]
fn assert_not_compared(primary: &mut Cluster, standby: &Cluster) {
    primary.kill();
    standby.promote();
    standby.connect().batch_execute(NEXT).expect("an ID");
    let log = standby.log();
    assert!(log.contains("snowflake IDs continue after a change: timeline 1 to 2"), "{log}");
    let line = "The clock was not compared with that of the server that this one followed.";
    assert!(log.contains(line), "{log}");
    assert!(!log.contains("has followed no other one"), "{log}");
    assert!(!log.contains("If it was restored from a backup"), "{log}");
}

/// Another identity is as much worth a line in the log as another timeline.
#[test]
fn a_change_of_the_identity_is_in_the_log() {
    let mut cluster = primary();
    cluster.stop();
    cluster.configure(&[("snowflake.worker_id", "10")]);
    cluster.start_again();
    cluster.connect().batch_execute(NEXT).expect("an ID");
    let line = "LOG:  snowflake IDs continue after a change: worker 9 to 10";
    assert!(cluster.log().contains(line), "{}", cluster.log());
    cluster.kill();
    cluster.start_again();
    cluster.connect().batch_execute(NEXT).expect("an ID");
    assert_eq!(cluster.log().matches("continue after a change").count(), 1);
}

/// The primary's clock jumps, and it issues no ID: nor does a standby whose clock agrees with it.
#[test]
fn what_the_primary_refused_is_refused_after_the_promotion() {
    let mut primary = primary_on_another_machine();
    primary.set_clock("+800d");
    let refused = "ahead of the last record of snowflake IDs";
    assert_refused(&primary, refused);
    let standby = standby(&primary, "+800d");
    primary.kill();
    standby.promote();
    assert_refused(&standby, refused);
}

/// In a cascade, it is the clock of the standby that sends.
#[test]
fn in_a_cascade_the_clock_is_compared_with_the_sender() {
    let mut primary = primary();
    let mut middle = standby(&primary, "+1h");
    let last = standby(&middle, "+0");
    middle.kill();
    primary.kill();
    last.promote();
    last.connect().batch_execute(NEXT).expect("an ID");
    let log = last.log();
    assert!(log.contains("behind that of the server that this one followed"), "{log}");
}

/// The sender's clock is behind, and issues nothing: that is no reason to refuse a right one.
#[test]
fn a_sender_whose_clock_is_behind_does_not_matter() {
    let mut primary = primary_on_another_machine();
    let mut middle = standby(&primary, "-2d");
    let last = standby(&middle, "+0");
    middle.kill();
    primary.kill();
    last.promote();
    last.connect().batch_execute(NEXT).expect("an ID");
}
