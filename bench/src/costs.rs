//! The cost of a function: one call for each of many rows, less one of a built-in function that
//! does nothing.
//!
//! Even an empty function of an extension costs a little. The baseline is therefore a built-in
//! function, as are most functions that a reader compares with.

use std::time::Instant;

use postgres::Client;
use snowflake_e2e::{Run, bigint, hosted_script};

use crate::effort::Effort;
use crate::keys::{self, NEW_ID, NEXT_ID, SNOWFLAKE, UUIDV7};
use crate::quantiles::median;
use crate::report::{Report, Table};
use crate::server::{cluster, widths};

/// Calls that make a key, and their costs.
pub struct Costs {
    /// The widths of the layout.
    pub widths: String,
    /// Functions that return one value.
    pub calls: Vec<Cost>,
}

/// Time of one call, less that of a built-in function that does nothing, in nanoseconds.
pub struct Cost {
    /// The call, as a reader knows it.
    pub name: &'static str,
    /// Nanoseconds.
    pub above: f64,
}

/// A call to measure.
struct Candidate {
    /// A function of a row, which has an `id`; or of `$n`, which returns a set of so many rows.
    call: &'static str,
    /// A condition on `calls`, a table with the result of each call and the `id` if there is one.
    check: &'static str,
}

fn candidate(call: &'static str, check: &'static str) -> Candidate {
    Candidate { call, check }
}

/// The baseline: PostgreSQL's cheapest function, which returns a number that the session has.
const NOTHING: &str = "pg_backend_pid()";
/// The baseline of sets.
const CONSTANTS: &str = "benches.constants($n)";

const CLOCK: &str = "benches.clock()";
/// The least cost of an ID.
const CLOCK_AND_LOCK: &str = "benches.clock_and_lock()";

const MILLISECONDS_OF_NOW: &str = "max(call) BETWEEN extract(epoch FROM now()) * 1000 - 60000 AND \
                                   extract(epoch FROM clock_timestamp()) * 1000";
const ALWAYS_THE_SAME: &str = "count(DISTINCT call) = 1";
const NEVER_THE_SAME: &str = "count(DISTINCT call) = count(*)";
const OF_WORKER_7: &str =
    "count(DISTINCT call) = count(*) AND bool_and(snowflake_worker_id(call) = 7)";

/// Measures all functions, and prints what they cost.
pub fn measure(effort: &Effort, report: &mut Report) -> Costs {
    let keys = keys(effort, report);
    decoding(effort, report);
    observing(effort, report);
    hosted(effort);
    keys
}

fn keys(effort: &Effort, report: &mut Report) -> Costs {
    let (cluster, keys) = keys::start(cluster().wide_sequence());
    let mut client = cluster.connect();
    let mut candidates = vec![
        candidate(NOTHING, ALWAYS_THE_SAME),
        candidate(
            "clock_timestamp()",
            "bool_and(call BETWEEN now() - interval '1 minute' AND clock_timestamp())",
        ),
        candidate(CLOCK, MILLISECONDS_OF_NOW),
        candidate(CLOCK_AND_LOCK, MILLISECONDS_OF_NOW),
        candidate("benches.constant()", ALWAYS_THE_SAME),
        candidate(CONSTANTS, ALWAYS_THE_SAME),
        candidate("snowflake_nextval($n)", OF_WORKER_7),
    ];
    candidates.extend(keys.iter().filter(|key| !key.call.is_empty()).map(|key| {
        let check = match key.call {
            SNOWFLAKE | NEW_ID => OF_WORKER_7,
            // It may repeat itself.
            NEXT_ID => "bool_and(call >> 10 & 8191 = 5)",
            _ => NEVER_THE_SAME,
        };
        candidate(key.call, check)
    }));
    let times = Times::measure(&mut client, &candidates, effort);
    let above = |call: &str| times.above(call, if returns_set(call) { CONSTANTS } else { NOTHING });
    let own = above(SNOWFLAKE);
    let widths = widths(&mut client);

    let title = format!(
        "Time of a call, less that of a built-in function that does nothing (`{NOTHING}`, {:.1} ns \
         with its row), or of a set of constants ({:.1} ns a row); widths {widths}; medians of \
         {} rounds of {}",
        times.of(NOTHING),
        times.of(CONSTANTS),
        effort.call_rounds,
        effort.calls
    );
    let name = |call: &'static str| match call {
        CLOCK => "one reading of the clock",
        CLOCK_AND_LOCK => "one reading of the clock, and a lock",
        "benches.constant()" => "a pgrx function that returns a constant",
        "snowflake_nextval($n)" => "snowflake_nextval(count)",
        call => keys.iter().find(|key| key.call == call).map_or(call, |key| key.name),
    };
    let mut table = Table::new(title, &["call", "ns", "of snowflake_nextval()"]);
    let mut calls = Vec::new();
    for Candidate { call, .. } in &candidates {
        if [NOTHING, CONSTANTS].contains(call) {
            continue;
        }
        let name = name(call);
        let cost = above(call);
        table.row(format!("`{name}`"), [format!("{cost:.1}"), format!("{:.2}", cost / own)]);
        if !call.starts_with("benches.") && !returns_set(call) && *call != NEW_ID {
            calls.push(Cost { name, above: cost });
        }
    }
    table.print();
    // The price of a shared generator is its lock, which is more than a quarter of what a fast
    // clock takes. The table has the ratio to the clock alone.
    let mut peers = vec![(CLOCK_AND_LOCK, 1.1), ("nextval('plain')", 1.0 / 5.0)];
    if times.has(UUIDV7) {
        peers.push((UUIDV7, 1.0 / 30.0));
    }
    for (peer, limit) in peers {
        report.at_most(format!("{SNOWFLAKE} / {}", name(peer)), own / above(peer), limit);
    }
    report.at_most(format!("{NEW_ID} / {SNOWFLAKE}"), above(NEW_ID) / own, 1.1);
    report.at_most(
        "snowflake_nextval(count), ns, less a set of constants",
        above("snowflake_nextval($n)"),
        5.0,
    );
    Costs { widths, calls }
}

fn decoding(effort: &Effort, report: &mut Report) {
    let cluster = cluster().public_keys("000102030405060708090a0b0c0d0e0f\n").start();
    let mut client = cluster.connect();
    client.run("SELECT snowflake_nextval()");
    let candidates = [
        candidate(NOTHING, ALWAYS_THE_SAME),
        candidate(
            "snowflake_timestamp(id)",
            "bool_and(extract(epoch FROM call) * 1000 = (id >> 22) + 1288834974657)",
        ),
        candidate(
            "snowflake_parse(id)",
            "bool_and(snowflake_make((call).\"timestamp\", (call).datacenter_id, \
             (call).worker_id, (call).sequence) = id)",
        ),
        candidate(
            "snowflake_to_base62(id)",
            "bool_and(snowflake_from_base62(call) = id) AND count(DISTINCT call) = count(*)",
        ),
        candidate(
            "snowflake_to_public(id, 'ord')",
            "bool_and(snowflake_from_public(call, 'ord') = id) AND count(DISTINCT call) = count(*)",
        ),
        candidate(
            "snowflake_from_public('ord_4v6OhBwNrBBescGiuxQIbh', 'ord')",
            "bool_and(call = 1268118639732232192)",
        ),
        candidate("snowflake_json(id)", "bool_and((call ->> 'id')::bigint = id)"),
        candidate(
            "pg_walfile_name_offset('0/1000028')",
            "count(*) FILTER (WHERE call::text <> '(000000010000000000000001,40)') = 0",
        ),
    ];
    let times = Times::measure(&mut client, &candidates, effort);
    let above = |call: &str| times.above(call, NOTHING);
    times.print("decoding", effort);
    report.at_most(
        "snowflake_timestamp(), ns, less a built-in function that does nothing",
        above("snowflake_timestamp(id)"),
        10.0,
    );
    for call in [
        "snowflake_to_public(id, 'ord')",
        "snowflake_from_public('ord_4v6OhBwNrBBescGiuxQIbh', 'ord')",
    ] {
        let name = call.split('(').next().expect("a name");
        report.at_most(
            format!("{name}(), ns, less a built-in function that does nothing"),
            above(call),
            500.0,
        );
    }
    report.at_most(
        "snowflake_parse() / pg_walfile_name_offset()",
        above("snowflake_parse(id)") / above("pg_walfile_name_offset('0/1000028')"),
        3.0,
    );
}

/// An ID that is an hour ahead of the clock, which is followed, and reserved, before anything is
/// measured.
fn observing(effort: &Effort, report: &mut Report) {
    let cluster = cluster().wide_sequence().set("snowflake.max_observed_lead", "1d").start();
    let mut client = cluster.connect();
    let ahead = "SELECT snowflake_max(now() + interval '1 hour')";
    let observe = format!("snowflake_observe({})", bigint(&mut client, ahead));
    let observe: &'static str = observe.leak();
    let candidates = [
        candidate(NOTHING, ALWAYS_THE_SAME),
        candidate("snowflake_nextval()", NEVER_THE_SAME),
        candidate(observe, "bool_and(call)"),
    ];
    let times = Times::measure(&mut client, &candidates, effort);
    let [next, observe] = ["snowflake_nextval()", observe].map(|call| times.above(call, NOTHING));
    let title = "Time of an observation and of an ID, both an hour ahead of the clock, less that of a \
                 built-in function that does nothing";
    let mut table = Table::new(title, &["call", "ns", "of snowflake_nextval()"]);
    table.row("`snowflake_nextval()`", [format!("{next:.1}"), "1.00".into()]);
    let ratio = observe / next;
    table.row("`snowflake_observe(id)`", [format!("{observe:.1}"), format!("{ratio:.2}")]);
    table.print();
    report.at_most("snowflake_observe() / snowflake_nextval()", ratio, 1.5);
}

/// The functions of `sql/hosted.sql`, in a database without the extension.
fn hosted(effort: &Effort) {
    let cluster = cluster().start();
    cluster.run("CREATE DATABASE hosted TEMPLATE template0");
    cluster.run_in("hosted", "CREATE SEQUENCE plain");
    cluster.run_in("hosted", &hosted_script("1", "1"));
    let mut client = cluster.connect_to("hosted");
    let candidates = [
        candidate(NOTHING, ALWAYS_THE_SAME),
        candidate("nextval('plain')", NEVER_THE_SAME),
        candidate(SNOWFLAKE, NEVER_THE_SAME),
    ];
    let times = Times::measure(&mut client, &candidates, effort);
    times.print("a call of sql/hosted.sql", effort);
}

/// Nanoseconds for a call, that of its query included: one time for each candidate and round.
///
/// Other work on the machine changes from one second to the next. Rounds are therefore short, and
/// candidates are compared within a round.
struct Times(Vec<(&'static str, Vec<f64>)>);

impl Times {
    /// Checks every candidate, then measures each once in every round.
    fn measure(client: &mut Client, candidates: &[Candidate], effort: &Effort) -> Times {
        for candidate in candidates {
            candidate.check(client);
        }
        let mut times = vec![Vec::new(); candidates.len()];
        for round in 0..=effort.call_rounds {
            if round % 10 == 0 {
                eprintln!("    functions, round {round} of {}", effort.call_rounds);
            }
            for (candidate, times) in candidates.iter().zip(&mut times) {
                let started = Instant::now();
                let made = bigint(client, &candidate.timed(effort.calls));
                assert_eq!(made, i64::from(effort.calls));
                if round > 0 {
                    times.push(started.elapsed().as_nanos() as f64 / f64::from(effort.calls));
                }
            }
        }
        Times(candidates.iter().map(|candidate| candidate.call).zip(times).collect())
    }

    /// Prints how much longer than [`NOTHING`] each of the others takes.
    fn print(&self, what: &str, effort: &Effort) {
        let title = format!(
            "Time of {what}, less that of a built-in function that does nothing; medians of {} rounds of {}",
            effort.call_rounds, effort.calls
        );
        let mut table = Table::new(title, &["call", "ns"]);
        for (call, _) in self.0.iter().filter(|(call, _)| *call != NOTHING) {
            table.row(format!("`{call}`"), [format!("{:.1}", self.above(call, NOTHING))]);
        }
        table.print();
    }

    /// Returns whether a call was measured.
    fn has(&self, call: &str) -> bool {
        self.0.iter().any(|(other, _)| *other == call)
    }

    /// Median of a call.
    fn of(&self, call: &str) -> f64 {
        median(self.rounds(call).to_vec())
    }

    /// Median of the difference to another call in the same round.
    fn above(&self, call: &str, base: &str) -> f64 {
        let rounds = self.rounds(call).iter().zip(self.rounds(base));
        median(rounds.map(|(call, base)| call - base).collect())
    }

    fn rounds(&self, call: &str) -> &[f64] {
        &self.0.iter().find(|(other, _)| *other == call).expect("measured").1
    }
}

/// All calls, as rows with `call` and, where there is one, `id`. They stream: a set in FROM would
/// be stored first.
fn rows(call: &str, count: u32) -> String {
    if returns_set(call) {
        format!("SELECT {} AS call", call.replace("$n", &count.to_string()))
    } else {
        format!("SELECT id, {call} AS call FROM ({}) AS ids", ids(count))
    }
}

/// So many IDs of 2025, one by one.
fn ids(count: u32) -> String {
    const FIRST: i64 = 2_000_000_000_000_000_000;
    format!("SELECT generate_series({FIRST}, {}) AS id", FIRST + i64::from(count) - 1)
}

fn returns_set(call: &str) -> bool {
    call.contains("$n")
}

impl Candidate {
    /// Nothing but the calls, counted: no subquery of a volatile function, which costs more than
    /// one of an immutable one.
    fn timed(&self, calls: u32) -> String {
        if returns_set(self.call) {
            format!("SELECT count(*) FROM ({}) AS calls", rows(self.call, calls))
        } else {
            format!("SELECT count({}) FROM ({}) AS ids", self.call, ids(calls))
        }
    }

    /// Fails when the function returns something wrong, or the same twice where it should not.
    fn check(&self, client: &mut Client) {
        const CALLS: u32 = 100_000;
        // OFFSET 0: each call is made once.
        let query = format!(
            "SELECT {}, count(*) FROM ({} OFFSET 0) AS calls",
            self.check,
            rows(self.call, CALLS)
        );
        let row =
            client.query_one(&query, &[]).unwrap_or_else(|error| panic!("{query}: {error:?}"));
        assert!(
            row.get::<_, bool>(0),
            "{} returned something wrong: not {}",
            self.call,
            self.check
        );
        assert_eq!(row.get::<_, i64>(1), i64::from(CALLS));
    }
}
