//! A standby whose clock is wrong is promoted. While it streamed, it learned its upstream's clock.

use std::time::Duration;
use std::{fs, thread};

use snowflake_e2e::{
    Cluster, Register, Run, Stopped, bigint, check, error_of, eventually, refusal, seconds_after,
    signal, value,
};

use super::{NEXT, archive, begin, begin_with, confirm, fail_over, floor, take};

const FORTY_DAYS: &str = "+40d";
const CAUGHT_UP: &str =
    "SELECT (pg_last_wal_replay_lsn() = pg_last_wal_receive_lsn())::int::bigint";

/// A primary whose register seems to be of another machine, until it makes the next reservation.
fn primary_on_another_machine() -> Cluster {
    let (mut primary, _) = begin();
    primary.stop();
    Register::set_another_boot(&primary);
    primary.start_again();
    primary
}

/// A standby of `upstream` whose clock is off by that much, once it knows its upstream's clock.
fn standby(upstream: &Cluster, offset: &str) -> Cluster {
    let standby = upstream.standby_at(offset);
    let mut client = standby.connect();
    eventually("a message has come", || {
        let detail = check(&mut client, "clock").1;
        // Refused for the register, or compared with the upstream.
        detail.contains("last record") || detail.contains("that of the server that this one follow")
    });
    standby
}

/// Fails over to a standby, and takes an ID of it. Returns its log.
#[track_caller]
fn take_after_failover(primary: &mut Cluster, standby: &Cluster) -> String {
    fail_over(primary, standby);
    standby.run(NEXT);
    standby.log()
}

#[track_caller]
fn assert_refused(standby: &Cluster, message: &str) {
    for statement in ["SELECT snowflake_set_floor(now() + interval '1 minute')", NEXT] {
        let error = refusal(standby.connect().query(statement, &[]));
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

/// Confirms the clock, which the next ID then has.
#[track_caller]
fn confirm_clock(cluster: &Cluster) {
    assert!(confirm(cluster, "clock"));
    // A confirmation lasts, also if the first ID is taken later than max_forward_step would allow a
    // jump to be.
    thread::sleep(Duration::from_secs(5));
    let ahead = "SELECT extract(day FROM snowflake_timestamp(snowflake_nextval()) - now())::bigint";
    assert_eq!(cluster.bigint(ahead), 0);
}

/// The walreceivers that try to connect after the primary's death do not erase what is known.
#[test]
fn a_clock_forty_days_ahead_is_refused_until_it_is_confirmed() {
    let mut primary = primary_on_another_machine();
    let mut standby = standby(&primary, FORTY_DAYS);
    primary.kill();
    thread::sleep(Duration::from_secs(60));
    standby.promote();
    assert_refused(&standby, "ahead of that of the server that this one followed");
    // After a crash, it is still refused, with what the crash has left of the knowledge.
    standby.kill();
    standby.start_again();
    assert_jump_of_forty_days_is_refused(&standby);
    confirm_clock(&standby);
}

#[test]
fn a_confirmation_right_after_a_promotion_works() {
    for (mut primary, offset) in
        [(primary_on_another_machine(), FORTY_DAYS), (idle_primary(), "+1h")]
    {
        let standby = standby(&primary, offset);
        fail_over(&mut primary, &standby);
        confirm_clock(&standby);
        standby.assert_not_logged("has followed no other one");
    }
}

/// A worker's knowledge outlives it.
#[test]
fn a_clock_that_is_set_right_needs_no_confirmation() {
    let (mut primary, _) = begin();
    let standby = standby(&primary, FORTY_DAYS);
    restart_worker(&standby);
    fail_over(&mut primary, &standby);
    assert_refused(&standby, "ahead of that of the server that this one followed");
    standby.set_clock("+0");
    standby.run(NEXT);
}

#[test]
fn a_clock_three_seconds_ahead_or_an_hour_behind_is_logged() {
    for (offset, exact, direction) in
        [("+3s", 3.0, "ahead of that"), ("-1h", 3600.0, "behind that")]
    {
        let (mut primary, journal) = begin();
        let standby = standby(&primary, offset);
        take(&journal, &primary);
        let mut reader = standby.connect();
        let expected = floor(&primary);
        let is_there = format!("SELECT coalesce(snowflake_floor() = '{expected}', false)");
        eventually("the floor is there", || value(&mut reader, &is_there));
        fail_over(&mut primary, &standby);
        take(&journal, &standby);
        journal.check();
        let log = standby.log();
        let line = "LOG:  snowflake IDs continue after a change: timeline 1 to 2";
        assert!(log.contains(line) && log.contains("and the margin 00:00:05"), "{log}");
        // Within a quarter of a second of what it is.
        let by = seconds_after("The clock is ", &log);
        assert!((by - exact).abs() < 0.25, "{direction}: {by} s");
        assert!(log.contains(direction) && !log.contains("was set back"), "{log}");
    }
}

/// After a restart, the worker's knowledge is gone, and the rule of a restart holds.
#[test]
fn after_a_restart_the_clock_is_judged_by_the_register() {
    let (mut primary, _) = begin();
    let mut standby = standby(&primary, FORTY_DAYS);
    let mut reader = standby.connect();
    eventually("the register is there", || {
        bigint(&mut reader, "SELECT count(snowflake_floor())") == 1
    });
    primary.run("CHECKPOINT");
    primary.kill();
    eventually("all is replayed", || bigint(&mut reader, CAUGHT_UP) == 1);
    reader.run("CHECKPOINT");
    standby.stop();
    Register::set_another_boot(&standby);
    standby.start_again();
    standby.promote();
    // Forty days are beyond max_forward_step, which is logged, and not beyond a year.
    standby.run(NEXT);
    standby.assert_logged("ahead of the last record of snowflake IDs");
    standby.assert_logged("This server has followed no other one since it started");
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
    client.run("CREATE TABLE arrived (); SELECT snowflake_nextval()");
    client.run("SELECT pg_switch_wal()");
    standby.start_again();
    let mut reader = standby.connect();
    eventually("the WAL is replayed", || reader.query("SELECT FROM arrived", &[]).is_ok());
    fail_over(&mut primary, &standby);
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
        standby.run(NEXT);
        let log = standby.log();
        for part in [
            line,
            "This server has followed no other one since it started",
            "If it was restored from a backup while the original runs on",
        ] {
            assert!(log.contains(part), "{part}: {log}");
        }
        assert!(!log.contains("was set back"), "{log}");
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
    let idle = Cluster::builder()
        .set("wal_sender_timeout", "0")
        .set("wal_receiver_timeout", "0")
        .set("snowflake.max_forward_step", "3s");
    begin_with(idle).0
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
    let detail = check(&mut reader, "clock").1;
    assert!(detail.starts_with("It agrees "), "{detail}");
    take_after_failover(&mut primary, &standby);
}

/// A worker that could not run for some seconds counts the age of the message that came meanwhile:
/// by that, the upstream's clock has gone on. The upstream's clock is an hour ahead, to show when
/// the worker has looked.
#[test]
fn a_message_that_is_looked_at_late_counts_with_its_age() {
    let primary = idle_primary();
    let standby = standby(&primary, "+0");
    let mut reader = standby.connect();
    let worker = worker(&standby).expect("it runs on a standby");
    let sender = primary.bigint("SELECT pid::bigint FROM pg_stat_replication");
    let worker = Stopped::new(worker);
    primary.set_clock("+1h");
    let sent = "SELECT (last_msg_send_time > now() + interval '30 minutes')::int::bigint
                FROM pg_stat_wal_receiver";
    eventually("a message has come", || {
        let emit = "SELECT pg_logical_emit_message(true, '', '')";
        primary.run(emit);
        bigint(&mut reader, sent) == 1
    });
    let sender = Stopped::new(sender);
    thread::sleep(Duration::from_secs(5));
    drop(worker);
    let mut detail = String::new();
    eventually("the worker has looked", || {
        detail = check(&mut reader, "clock").1;
        detail.contains(" behind")
    });
    drop(sender);
    let by = seconds_after("It is ", &detail);
    assert!((by - 3600.0).abs() < 2.5, "{by} s");
}

/// A standby can stream without a message: it has all of the WAL, and nothing happens.
#[test]
fn without_a_message_the_log_does_not_deny_that_it_streamed() {
    let mut primary = idle_primary();
    let mut standby = standby(&primary, "+0");
    let streams = "SELECT count(*) FROM pg_stat_wal_receiver WHERE status = 'streaming'";
    eventually("it streams and has got no message", || {
        primary.run("SELECT pg_switch_wal()");
        let mut reader = standby.connect();
        eventually("all is replayed", || bigint(&mut reader, CAUGHT_UP) == 1);
        standby.restart();
        let mut reader = standby.connect();
        eventually("it streams", || bigint(&mut reader, streams) == 1);
        thread::sleep(Duration::from_secs(1));
        check(&mut reader, "clock").1.contains("no message has come")
    });
    assert_not_compared(&mut primary, &standby);
}

/// Fails over to a standby that has streamed, and not heard of its primary's clock.
#[track_caller]
pub fn assert_not_compared(primary: &mut Cluster, standby: &Cluster) {
    let log = take_after_failover(primary, standby);
    assert!(log.contains("snowflake IDs continue after a change: timeline 1 to 2"), "{log}");
    let line = "The clock was not compared with that of the server that this one followed.";
    assert!(log.contains(line), "{log}");
    assert!(!log.contains("has followed no other one"), "{log}");
    assert!(!log.contains("If it was restored from a backup"), "{log}");
}

/// Another identity is as much worth a line in the log as another timeline.
#[test]
fn a_change_of_the_identity_is_in_the_log() {
    let (mut cluster, journal) = begin();
    cluster.restart_with(&[("snowflake.worker_id", "10")]);
    take(&journal, &cluster);
    let line = "LOG:  snowflake IDs continue after a change: worker 9 to 10";
    cluster.assert_logged(line);
    cluster.crash("+0");
    take(&journal, &cluster);
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
    fail_over(&mut primary, &standby);
    assert_refused(&standby, refused);
}

/// In a cascade, it is the clock of the standby that sends. One that is behind, and issues nothing,
/// is no reason to refuse a right one.
#[test]
fn in_a_cascade_the_clock_is_compared_with_the_sender() {
    for (mut primary, offset, direction) in
        [(begin().0, "+1h", "behind"), (primary_on_another_machine(), "-2d", "ahead of")]
    {
        let mut middle = standby(&primary, offset);
        let last = standby(&middle, "+0");
        middle.kill();
        let log = take_after_failover(&mut primary, &last);
        let compared = format!("{direction} that of the server that this one followed");
        assert!(log.contains(&compared), "{compared}: {log}");
    }
}
