//! Clocks that are before the epoch, years ahead, or jump while the server is down.

use std::io::Write;
use std::process::Stdio;

use snowflake_e2e::{
    Cluster, Journal, Register, Run, bigint, error_of, eventually, refusal, seconds_after, value,
};

use super::{NEXT, begin, confirm, take};

const DECODE: &str = "SELECT snowflake_timestamp(1268118639732232192)";

#[track_caller]
fn assert_before_epoch(cluster: &Cluster) {
    let mut client = cluster.connect();
    client.query(DECODE, &[]).expect("decoded");
    let error = refusal(client.query(NEXT, &[]));
    assert_eq!(error.message(), "the clock is before snowflake.epoch");
    assert!(error.detail().is_some_and(|detail| detail.contains("IDs count from 2010-11-04")));
}

/// A battery is empty: the clock says 1970, or 1999.
#[test]
fn a_server_whose_clock_is_before_the_epoch_starts_and_decodes() {
    let epoch = ("snowflake.epoch", "2010-11-04T01:42:54.657Z");
    for (clock, settings) in [("-20400d", &[][..]), ("-10000d", &[epoch])] {
        let mut cluster = Cluster::builder().fake_clock().create();
        cluster.configure(settings);
        cluster.set_clock(clock);
        cluster.start_again();
        cluster.run("CREATE EXTENSION snowflake");
        cluster.assert_logged("LOG:  the clock is before snowflake.epoch");
        assert_before_epoch(&cluster);
        let standby = cluster.standby_at(clock);
        standby.connect().query(DECODE, &[]).expect("decoded");
        drop(standby);
        // In a session that was open before, too, once the clock is right.
        let mut client = cluster.connect();
        error_of(client.query(NEXT, &[]));
        cluster.set_clock("+0");
        let journal = Journal::new();
        journal.take(&mut client, NEXT).expect("an ID");
        // Back again: a step that is too large to be held, and nothing worse.
        cluster.set_clock(clock);
        let error = error_of(journal.take(&mut client, NEXT));
        assert!(error.message().contains("behind the last snowflake ID"), "{error}");
        cluster.restart();
        error_of(journal.take(&mut cluster.connect(), NEXT));
        cluster.set_clock("+0");
        take(&journal, &cluster);
        journal.check();
    }
}

#[test]
fn a_single_user_server_whose_clock_is_before_the_epoch_starts() {
    let mut cluster = Cluster::builder().fake_clock().start();
    cluster.stop();
    cluster.set_clock("-10000d");
    let mut server = cluster.postgres();
    server.args(["--single", "-D"]).arg(cluster.data()).arg("postgres");
    let mut server =
        server.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("postgres runs");
    let mut input = server.stdin.take().expect("a pipe");
    input.write_all(format!("{DECODE}\n").as_bytes()).expect("it reads");
    drop(input);
    let output = server.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("2020-06-03 09:53:38.874+00"), "{output:?}");
}

#[track_caller]
fn assert_jump_is_refused(cluster: &Cluster, journal: &Journal, days: f64) {
    let error = refusal(journal.take(&mut cluster.connect(), NEXT));
    let by = seconds_after("the clock has jumped ahead by ", error.message());
    assert!((by - days * 86_400.0).abs() < 60.0, "{error}");
    assert!(error.hint().expect("a hint").contains("snowflake_confirm('clock')"), "{error:?}");
}

/// A refused jump of 300 days stays refused after the crash of a backend, of the server, and after
/// a restart.
#[test]
fn a_refused_jump_stays_refused() {
    let (mut cluster, journal) = begin();
    cluster.set_clock("+300d");
    assert_jump_is_refused(&cluster, &journal, 300.0);
    cluster.crash_a_backend();
    assert_jump_is_refused(&cluster, &journal, 300.0);
    cluster.crash("+300d");
    assert_jump_is_refused(&cluster, &journal, 300.0);
    cluster.restart();
    assert_jump_is_refused(&cluster, &journal, 300.0);
    // The clock is set right.
    cluster.set_clock("+0");
    assert!(!confirm(&cluster, "clock"));
    take(&journal, &cluster);
    journal.check();
}

#[test]
fn a_confirmation_works_before_the_first_id_and_lasts() {
    let (mut cluster, journal) = begin();
    cluster.restart_at("+300d");
    assert!(confirm(&cluster, "clock"));
    assert!(!confirm(&cluster, "clock"));
    cluster.crash("+300d");
    take(&journal, &cluster);
    journal.check();
}

/// The clock is right then: nobody is told to correct it.
#[test]
fn a_wrong_clock_that_was_confirmed_can_be_corrected() {
    let (cluster, journal) = begin();
    let mut client = cluster.connect();
    cluster.set_clock("+3d");
    assert_jump_is_refused(&cluster, &journal, 3.0);
    assert!(confirm(&cluster, "clock"));
    journal.take(&mut client, NEXT).expect("an ID");
    // A jump that is short enough is only logged.
    cluster.set_clock("+80h");
    journal.take(&mut client, NEXT).expect("an ID");
    let line = "LOG:  the clock has jumped ahead by ";
    eventually("a line in the log", || cluster.log().contains(line));
    cluster.set_clock("+0");
    let error = error_of(journal.take(&mut client, NEXT));
    let hint = error.hint().expect("a hint");
    assert!(hint.starts_with("If the clock is wrong, set it right. If it is right, "), "{hint}");
    assert!(hint.contains("raise snowflake.max_backward_step"), "{hint}");
    cluster.reload_with(&[("snowflake.max_backward_step", "4d")]);
    let is_raised = "SELECT current_setting('snowflake.max_backward_step') = '4d'";
    eventually("the setting is in force", || value(&mut client, is_raised));
    journal.take(&mut client, NEXT).expect("an ID");
    journal.check();
}

/// IDs above a floor that is ahead of a wrong clock would follow that clock.
#[test]
fn a_floor_is_refused_as_long_as_the_clock_is() {
    let (mut cluster, journal) = begin();
    cluster.set_clock("+3d");
    let floors = [
        "now() + interval '1 minute'",
        "now()",
        "now() + interval '5 days'",
        "now() - interval '3 days'",
        "snowflake_floor()",
    ];
    for _ in 0..2 {
        let mut client = cluster.connect();
        for floor in floors {
            let set = format!("SELECT snowflake_set_floor({floor})");
            let error = refusal(client.query(&set, &[]));
            let by = seconds_after("the clock has jumped ahead by ", error.message());
            assert!((by - 3.0 * 86_400.0).abs() < 60.0, "{floor}: {error}");
            let hint = error.hint().expect("a hint");
            assert!(hint.contains("SELECT snowflake_confirm('clock')"), "{hint}");
            assert!(!hint.contains("force"), "{hint}");
        }
        assert_jump_is_refused(&cluster, &journal, 3.0);
        // The second time, before the first ID of a start.
        cluster.restart();
    }
    // Nothing has followed the clock.
    cluster.set_clock("+0");
    let mut client = cluster.connect();
    journal.take(&mut client, NEXT).expect("an ID");
    assert!(bigint(&mut client, "SELECT lead FROM pg_stat_snowflake") < 60_000);
    // One that is right, and was confirmed, is no reason to refuse a floor.
    cluster.set_clock("+3d");
    assert!(confirm(&cluster, "clock"));
    client.run("SELECT snowflake_set_floor(now() + interval '1 minute')");
    journal.take(&mut client, NEXT).expect("an ID");
    journal.check();
}

/// An administrator who sets a floor by force says nothing of the clock, but follows it if the
/// floor is ahead of it.
#[test]
fn a_floor_is_no_confirmation_of_the_clock() {
    let (cluster, journal) = begin();
    cluster.set_clock("+300d");
    let force = |time: &str| {
        let set =
            format!("SELECT snowflake_set_floor({time} + interval '1 second', force => true)");
        cluster.run(&set);
    };
    assert_jump_is_refused(&cluster, &journal, 300.0);
    force("snowflake_floor()");
    assert_jump_is_refused(&cluster, &journal, 300.0);
    force("now()");
    take(&journal, &cluster);
    journal.check();
}

/// Nobody knows how long a machine was off: only a year is too much.
#[test]
fn on_another_boot_a_year_is_the_limit() {
    let (mut cluster, journal) = begin();
    let restart_at = |cluster: &mut Cluster, clock: &str| {
        cluster.stop();
        Register::set_another_boot(cluster);
        cluster.set_clock(clock);
        cluster.start_again();
    };
    restart_at(&mut cluster, "+300d");
    take(&journal, &cluster);
    let by = seconds_after("LOG:  the clock is ", &cluster.log()) / 86_400.0;
    assert!((299.99..300.01).contains(&by), "{by} days");
    restart_at(&mut cluster, "+700d");
    let error = error_of(journal.take(&mut cluster.connect(), NEXT));
    assert!(error.message().ends_with(" ahead of the last record of snowflake IDs"), "{error}");
    let hint = error.hint().expect("a hint");
    assert!(hint.contains("snowflake_confirm('clock')"), "{hint}");
    assert!(!hint.contains("max_forward_step"), "{hint}");
    assert!(confirm(&cluster, "clock"));
    take(&journal, &cluster);
    // Without a limit there is none for this either, but a line in the log.
    cluster.configure(&[("snowflake.max_forward_step", "-1")]);
    restart_at(&mut cluster, "+1200d");
    take(&journal, &cluster);
    let log = cluster.log();
    assert!(log.matches("ahead of the last record of snowflake IDs").count() >= 3, "{log}");
    journal.check();
}

/// One ID at a clock that is 40 years ahead: no setting reaches that far, so the hint says what
/// does.
#[test]
fn a_forced_floor_leaves_an_id_years_ahead_behind() {
    let cluster = Cluster::builder().set("snowflake.max_forward_step", "-1").fake_clock().start();
    let mut client = cluster.connect();
    bigint(&mut client, NEXT);
    cluster.set_clock("+14610d");
    let far = bigint(&mut client, NEXT);
    cluster.set_clock("+0");
    let error = error_of(client.query(NEXT, &[]));
    let hint = error.hint().expect("a hint");
    assert!(hint.contains("SELECT snowflake_set_floor(now(), force => true)"), "{hint}");
    assert!(hint.contains("the same IDs are issued again"), "{hint}");
    assert!(!hint.contains("max_backward_step") && !hint.contains("max_wait"), "{hint}");
    client.run("SELECT snowflake_set_floor(now(), force => true)");
    assert!(bigint(&mut client, NEXT) < far);
}
