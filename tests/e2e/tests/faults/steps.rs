//! Steps of the clock under each strategy that the table in docs/reference.md names.

use postgres::Client;
use postgres::error::SqlState;
use snowflake_e2e::{
    Cluster, Journal, Run, assert_check, assert_increasing, bigint, bigints, eventually, refusal,
    seconds_after, value,
};

use super::{NEXT, begin, begin_with, take};

type Settings = &'static [(&'static str, &'static str)];

/// The strategies of docs/reference.md.
pub const STRATEGIES: &[(&str, Settings)] = &[
    ("Twitter", &[("snowflake.max_backward_step", "0"), ("snowflake.max_wait", "0")]),
    ("Leaf", &[("snowflake.max_backward_step", "0"), ("snowflake.max_wait", "10ms")]),
    ("block", &[("snowflake.max_backward_step", "0"), ("snowflake.max_wait", "-1")]),
    ("logical clock", &[("snowflake.max_backward_step", "-1"), ("snowflake.max_burst", "-1")]),
    ("reuse", &[("snowflake.reuse_window", "256ms")]),
    ("default", &[]),
];

#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    GoesOn,
    Waits,
    Refuses,
}

/// Returns the outcome that the strategy promises for a step back by so many milliseconds.
fn expected(strategy: &str, step: i64) -> Outcome {
    match strategy {
        "Twitter" => Outcome::Refuses,
        "Leaf" if step <= 10 => Outcome::Waits,
        "Leaf" => Outcome::Refuses,
        "block" => Outcome::Waits,
        "logical clock" => Outcome::GoesOn,
        "reuse" | "default" if step <= 86_400_000 => Outcome::GoesOn,
        "reuse" | "default" => Outcome::Refuses,
        other => panic!("unknown strategy {other}"),
    }
}

/// Returns the outcome of the next ID.
fn observed(journal: &Journal, cluster: &Cluster) -> Outcome {
    let mut client = cluster.connect();
    client.run("SET statement_timeout = '1500ms'");
    let mut watcher = cluster.connect();
    // Milliseconds for which calls have waited for the clock, however slow the machine is. After a
    // start, an ID might be a few ahead. Where this call need not wait, those of other sessions
    // need not.
    let mut waited = || value::<f64>(&mut watcher, "SELECT wait_time FROM pg_stat_snowflake");
    let before = waited();
    match journal.take(&mut client, NEXT) {
        Ok(_) if waited() < before + 500.0 => Outcome::GoesOn,
        Ok(_) => Outcome::Waits,
        Err(error) => match error.code() {
            Some(&SqlState::QUERY_CANCELED) => Outcome::Waits,
            Some(&SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE) => Outcome::Refuses,
            _ => panic!("{error}"),
        },
    }
}

/// A server that follows a strategy.
pub fn server(settings: Settings) -> Cluster {
    let builder = Cluster::builder().fake_clock();
    settings.iter().fold(builder, |builder, (name, value)| builder.set(name, value)).start()
}

#[test]
fn every_strategy_does_what_it_says_while_running() {
    const STEPS: [(&str, i64); 4] =
        [("-0.005", 5), ("-1s", 1_000), ("-1h", 3_600_000), ("-2d", 172_800_000)];
    let mut ids = 0;
    for (strategy, settings) in STRATEGIES {
        let (cluster, journal) = (server(settings), Journal::new());
        // Others take IDs all the time, and come back when they are refused.
        journal.under_load(&cluster.config(), 2, NEXT, || {
            for (offset, step) in STEPS {
                journal.wait_for(200);
                cluster.set_clock(offset);
                let outcome = observed(&journal, &cluster);
                let expected = expected(strategy, step);
                // The first is over before anybody can tell; but only who never waits may refuse.
                let is_over = step == 5 && outcome != Outcome::Refuses;
                assert!(
                    outcome == expected || is_over,
                    "{strategy}: {outcome:?} at a step back by {step} ms"
                );
                // Back to the true time: IDs go on everywhere.
                cluster.set_clock("+0");
                journal.wait_for(200);
            }
            // A year ahead, and back.
            cluster.set_clock("+365d");
            let error = refusal(journal.take(&mut cluster.connect(), NEXT));
            let by = seconds_after("the clock has jumped ahead by ", error.message());
            assert!((by - 365.0 * 86_400.0).abs() < 5.0, "{strategy}: {error}");
            cluster.set_clock("+0");
            journal.wait_for(200);
        });
        ids += match *strategy {
            "reuse" => journal.check_in_any_order(),
            _ => journal.check(),
        };
    }
    println!("6 steps under each of {} strategies, {ids} IDs", STRATEGIES.len());
}

#[test]
fn every_strategy_does_what_it_says_across_a_restart() {
    let mut ids = 0;
    for (strategy, settings) in STRATEGIES {
        let (mut cluster, journal) = (server(settings), Journal::new());
        for (offset, step) in [("-0.005", 5), ("-1h", 3_600_000), ("-2d", 172_800_000)] {
            take(&journal, &cluster);
            cluster.restart_at(offset);
            // The start explains a lead of up to the reservation, so a short step is none.
            let expected = if step < 1000 { Outcome::GoesOn } else { expected(strategy, step) };
            let outcome = observed(&journal, &cluster);
            assert_eq!(outcome, expected, "{strategy}: a restart with the clock {step} ms back");
            cluster.set_clock("+0");
            let mut client = cluster.connect();
            eventually("IDs go on", || journal.take(&mut client, NEXT).is_ok());
        }
        ids += journal.check();
    }
    println!("18 restarts with the clock back, {ids} IDs");
}

/// A lead that is explained is not waited for, however long it is: only the step back itself is,
/// and an error says when that is over.
#[test]
fn a_short_step_back_is_waited_for_whatever_lead_is_explained() {
    let strict: Settings =
        &[("snowflake.max_backward_step", "0"), ("snowflake.max_observed_lead", "1min")];
    let default: Settings = &[("snowflake.max_observed_lead", "2d")];
    for (lead, settings) in [("50 seconds", strict), ("30 hours", default)] {
        let mut cluster = server(settings);
        cluster.restart_with(&[("snowflake.max_wait", "3s")]);
        let journal = Journal::new();
        let mut client = cluster.connect();
        journal.take(&mut client, NEXT).expect("an ID");
        let other = format!("snowflake_make(clock_timestamp() + interval '{lead}', 1, 2, 7)");
        assert!(value::<bool>(&mut client, &format!("SELECT snowflake_observe({other})")));
        journal.take(&mut client, NEXT).expect("an ID");
        let refused = "SELECT steps_refused FROM pg_stat_snowflake";
        cluster.set_clock("-1.5s");
        journal.take(&mut client, NEXT).expect("an ID, after a wait");
        assert_eq!(bigint(&mut client, refused), 0);
        // The start explains the lead, too.
        cluster.crash("-4s");
        let mut client = cluster.connect();
        journal.take(&mut client, NEXT).expect("an ID, after a wait");
        assert_eq!(bigint(&mut client, refused), 0);
        // Too long a wait is refused.
        cluster.set_clock("-20s");
        let error = refusal(journal.take(&mut client, NEXT));
        let detail = error.detail().expect("a detail");
        let (_, until) = detail.split_once("has reached ").expect("a time");
        let left = format!(
            "SELECT ceil(extract(epoch FROM '{}'::timestamptz - clock_timestamp()))::bigint",
            until.trim_end_matches('.')
        );
        let left = bigint(&mut client, &left);
        assert!((4..=18).contains(&left), "{left} s: {detail}");
        assert_check(&mut client, "lead", false, "has reached");
        cluster.set_clock(&format!("{}s", left - 20));
        journal.take(&mut client, NEXT).expect("an ID");
        journal.check();
    }
}

#[test]
fn a_held_step_is_logged_once_a_minute() {
    let (cluster, journal) = begin();
    let mut client = cluster.connect();
    for offset in ["-10s", "-20s", "-30s", "-1h"] {
        cluster.set_clock(offset);
        journal.take(&mut client, NEXT).expect("an ID");
    }
    let lines = cluster.log().matches("LOG:  the clock was set back: it is ").count();
    assert_eq!(lines, 1, "{}", cluster.log());
    journal.check();
}

#[test]
fn under_saturation_the_lead_of_a_held_step_does_not_grow() {
    // Four IDs a millisecond: the layout is the limit, even where each clock reading goes through
    // libfaketime.
    let (cluster, _) = begin_with(Cluster::builder().set("snowflake.sequence_bits", "2"));
    cluster.set_clock("-10s");
    let leads = bigints(
        &mut cluster.connect(),
        "SELECT floor(extract(epoch FROM snowflake_timestamp(id) - clock) * 1000)::bigint
         FROM (SELECT snowflake_nextval() AS id, clock_timestamp() AS clock FROM generate_series(1, 10000) OFFSET 0) AS ids",
    );
    // A session that is put to sleep between the two readings measures less; nobody measures more.
    let (first, second) = leads.split_at(leads.len() / 2);
    let (first, second) = (first.iter().max(), second.iter().max());
    assert!(first.is_some_and(|lead| (9_000..=10_000).contains(lead)), "{first:?}");
    assert!(second <= first, "the lead grew from {first:?} to {second:?}");
}

/// A burst has run ahead of the clock when a reload lowers `max_burst`. Nobody set the clock back.
#[test]
fn a_burst_is_no_step_after_max_burst_was_lowered() {
    let cluster = Cluster::builder()
        .set("snowflake.sequence_bits", "2")
        .set("snowflake.max_burst", "20s")
        .set("snowflake.max_backward_step", "0")
        .set("snowflake.max_wait", "0")
        .start();
    let mut client = cluster.connect();
    let mut ids = bigints(&mut client, "SELECT snowflake_nextval(100000)");
    let lead =
        |client: &mut Client| bigint(client, "SELECT floor(lead)::bigint FROM pg_stat_snowflake");
    assert!(lead(&mut client) > 5000, "{}", lead(&mut client));
    cluster.reload_with(&[("snowflake.max_burst", "0")]);
    let is_lowered = "SELECT current_setting('snowflake.max_burst') = '0'";
    eventually("the session knows", || value(&mut client, is_lowered));
    ids.extend(bigints(&mut client, "SELECT snowflake_nextval(1000)"));
    assert!(lead(&mut client) > 2000, "{}", lead(&mut client));
    assert_increasing(&ids);
    let steps = "SELECT steps_held + steps_refused FROM pg_stat_snowflake";
    assert_eq!(bigint(&mut client, steps), 0);
    cluster.assert_not_logged("set back");
}
