//! Patroni, with etcd and three members: crashed primaries, planned switchovers, and primaries that
//! nobody fences.
//!
//! All members run on one machine, so that a new primary would be ahead of the last lost ID by its
//! clock alone. Where the register and the margin are to show what they do, the clocks of the
//! standbys are set back before the failover.

mod etcd;
mod fleet;
mod member;
mod received;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use postgres::NoTls;
use postgres::error::SqlState;
use snowflake_e2e::{Means, StopOnDrop, bigint, bigints, check, error_of, eventually, lacks};

use fleet::{Fleet, Identity, Plan};
use member::Member;
use received::{Received, Task, insert, take, take_and_commit};

/// What the members and their fleet are run by.
const NEEDED: &[Means] = &[Means::Program("patroni"), Means::Program("etcd")];

/// How many failovers all tests together have.
const FAILOVERS: usize = 11;

/// How long no WAL is sent before a primary dies.
const LAG: Duration = Duration::from_secs(3);

/// The clocks of standbys before a failover. This is longer than a failover takes.
const BEHIND: &str = "-300s";

/// What clients receive before a failover, at least.
const LOAD: usize = 50_000;

/// What they receive after it, at least. A new primary whose clock is behind issues 256 IDs for
/// each millisecond above the floor, so these fill more than half a second in which the old primary
/// was busy.
const FILL: usize = 150_000;

/// How long two primaries issue IDs side by side. After a start, IDs are ahead of the clock by up
/// to two seconds.
const OVERLAP: Duration = Duration::from_secs(4);

/// What `snowflake_check()` says about an identity that Patroni writes into the data directory.
const ORIGIN: &str = "origin of the identity";

/// What a scenario has seen so far.
struct Outcome {
    scenario: &'static str,
    expected: &'static str,
    lost: usize,
    duplicates: usize,
}

impl Outcome {
    fn of(scenario: &'static str, expected: &'static str) -> Outcome {
        println!("{scenario}: {expected} duplicates expected");
        Outcome { scenario, expected, lost: 0, duplicates: 0 }
    }

    /// Prints a line on a failover, and a table after the last one of all.
    fn report(&mut self, failover: &Failover, ids: usize, duplicates: usize) {
        self.lost += failover.lost;
        self.duplicates = duplicates;
        let Failover { from, to, lost, rows, time } = failover;
        println!(
            "{from} to {to}: {lost} of {rows} rows lost, first ID after {:.1} s, {ids} IDs, \
             {duplicates} duplicates",
            time.as_secs_f64()
        );
        let row = format!(
            "{} | {from} to {to} | {lost} of {rows} | {:.1} | {ids} | {duplicates} | {}",
            self.scenario,
            time.as_secs_f64(),
            self.expected
        );
        static TABLE: Mutex<Vec<String>> = Mutex::new(Vec::new());
        let mut table = TABLE.lock().expect("no panic");
        table.push(row);
        if table.len() == FAILOVERS {
            table.sort_by_key(|row| row.split('|').next().map(str::to_string));
            println!("Scenario | Failover | Lost rows | First ID, s | IDs | Duplicates | Expected");
            println!("--- | --- | --- | --- | --- | --- | ---\n{}", table.join("\n"));
        }
    }
}

/// One failover: acknowledged rows that the new primary lacks, and the time from the fault to the
/// first ID.
struct Failover {
    from: &'static str,
    to: &'static str,
    lost: usize,
    rows: usize,
    time: Duration,
}

impl Failover {
    /// Looks at the new primary after a failover.
    fn between(from: &Member, to: &Member, received: &Received, time: Duration) -> Failover {
        let rows = received.take_rows();
        let kept: HashSet<i64> =
            bigints(&mut to.connect(), "SELECT id FROM orders").into_iter().collect();
        let lost = rows.iter().filter(|id| !kept.contains(id)).count();
        Failover { from: from.name, to: to.name, lost, rows: rows.len(), time }
    }
}

/// Waits for the first ID that one of some members issues, and writes it down.
fn first_id(fleet: &Fleet, among: &[usize], received: &Received) {
    let config = fleet.config(among);
    eventually("an ID after the failover", || {
        config.connect(NoTls).and_then(|mut client| insert(&mut client, received)).is_ok()
    });
}

/// Kills a primary that has not sent its last WAL, as often as said. The killed one comes back by
/// pg_rewind, and is a candidate for the next failover.
fn lose_power(outcome: &mut Outcome, plan: Plan, task: Task, times: usize) {
    let mut fleet = Fleet::start(plan);
    let (received, stop) = (Received::default(), AtomicBool::new(false));
    thread::scope(|scope| {
        let _stop = StopOnDrop(&stop);
        for task in [insert, insert, task, task] {
            received.client(scope, fleet.config(&[0, 1, 2]), task, &stop);
        }
        let mut old = 0;
        for _ in 0..times {
            received.wait_for(LOAD);
            fleet.assert_well(&[ORIGIN]);
            let others = fleet.others(old);
            fleet.set_clocks(&others, BEHIND);
            fleet.stop_sending(old);
            thread::sleep(LAG);
            fleet.members[old].lose_power();
            let killed = Instant::now();
            first_id(&fleet, &others, &received);
            let time = killed.elapsed();
            let new = fleet.primary(&others);
            let failover =
                Failover::between(&fleet.members[old], &fleet.members[new], &received, time);
            fleet.members[old].start();
            received.wait_for(FILL);
            outcome.report(&failover, received.count(), received.duplicates(&Received::default()));
            fleet.set_clocks(&others, "+0");
            fleet.wait_for_standbys(new);
            assert!(fleet.members[old].log().contains("running pg_rewind"));
            fleet.assert_well(&[ORIGIN]);
            assert_register_is_kept(&fleet.members[old], &fleet.members[new]);
            old = new;
        }
    });
}

/// A member that came back has the register of the primary.
fn assert_register_is_kept(member: &Member, primary: &Member) {
    let floor = "SELECT (extract(epoch FROM snowflake_floor()) * 1000)::bigint";
    let expected = bigint(&mut primary.connect(), floor);
    let mut client = member.connect();
    eventually("the floor comes to the member", || bigint(&mut client, floor) >= expected);
}

/// Each port of a fleet is open to everybody on the machine. Who does not know the password gets
/// no session, and changes nothing in Patroni or etcd.
#[test]
#[ignore = "starts a fleet: make test-fleet"]
fn nobody_gets_power_over_a_fleet_without_its_password() {
    if lacks(NEEDED) {
        return;
    }
    let plan = Plan { identity: Identity::Shared, failover_margin: "0", synchronous_mode: false };
    let fleet = Fleet::start(plan);
    for member in &fleet.members {
        member.assert_ports();
        for user in ["postgres", "replicator"] {
            let mut config = member.config_without_password();
            assert!(config.user(user).connect(NoTls).is_err(), "{user} needs no password");
            let error = error_of(config.password("wrong").connect(NoTls));
            assert_eq!(error.code(), &SqlState::INVALID_PASSWORD);
        }
        for (method, path, body) in [
            ("PATCH", "/config", r#"{"postgresql": {"parameters": {"archive_mode": "on"}}}"#),
            ("PUT", "/config", "{}"),
            ("POST", "/reload", ""),
            ("POST", "/restart", "{}"),
            ("POST", "/reinitialize", "{}"),
            ("POST", "/switchover", r#"{"leader": "one", "candidate": "two"}"#),
            ("POST", "/failover", r#"{"candidate": "two"}"#),
        ] {
            let status = member.status_without_password(method, path, body);
            assert_eq!(status, 401, "{method} {path} of {}", member.name);
        }
        let permissions = "SHOW unix_socket_permissions";
        let permissions = member.connect().query_one(permissions, &[]).expect("a setting");
        assert_eq!(permissions.get::<_, &str>(0), "0700");
    }
    fleet.etcd.assert_port();
    // The key "a".
    for (path, body) in [
        ("/v3/kv/put", r#"{"key": "YQ==", "value": "YQ=="}"#),
        ("/v3/kv/range", r#"{"key": "YQ=="}"#),
        ("/v3/kv/deleterange", r#"{"key": "YQ=="}"#),
        ("/v3/auth/disable", "{}"),
        ("/v3/auth/user/add", r#"{"name": "other", "password": "other"}"#),
    ] {
        let (status, said) = fleet.etcd.answer_without_password(path, body);
        assert!(status == 400 && said.contains("user name is empty"), "{path}: {status} {said}");
    }
}

/// The margin covers WAL that was lost, failover after failover.
#[test]
#[ignore = "takes minutes: make test-fleet"]
fn lost_wal_is_covered_by_the_margin() {
    if lacks(NEEDED) {
        return;
    }
    let plan = Plan { identity: Identity::Shared, failover_margin: "15s", synchronous_mode: false };
    let mut outcome = Outcome::of("a: power loss, 3 s of WAL lost, shared identity, 15 s", "0");
    lose_power(&mut outcome, plan, take, 3);
    assert!(outcome.lost > 0, "no WAL was lost, so there was nothing to cover");
    assert_eq!(outcome.duplicates, 0);
}

/// The same without a margin: the other tests would see duplicates.
#[test]
#[ignore = "takes minutes: make test-fleet"]
fn lost_wal_without_a_margin_brings_ids_back() {
    if lacks(NEEDED) {
        return;
    }
    let plan = Plan { identity: Identity::Shared, failover_margin: "0", synchronous_mode: false };
    let mut outcome = Outcome::of("a: the same, margin 0", "more than 0");
    lose_power(&mut outcome, plan, take, 1);
    assert!(outcome.lost > 0);
    assert!(outcome.duplicates > 0, "the tests cannot see duplicates");
}

/// With `synchronous_mode`, no ID that a committed transaction returned comes back, even if it
/// wrote no row. The standby that is synchronous has the floor before the primary dies:
/// `snowflake_check()` says so.
#[test]
#[ignore = "takes minutes: make test-fleet"]
fn committed_ids_are_covered_by_synchronous_mode() {
    if lacks(NEEDED) {
        return;
    }
    let plan = Plan { identity: Identity::Shared, failover_margin: "0", synchronous_mode: true };
    let mut outcome = Outcome::of("b: power loss, synchronous_mode, shared identity, 0", "0");
    lose_power(&mut outcome, plan, take_and_commit, 2);
    assert_eq!(outcome.lost, 0);
    assert_eq!(outcome.duplicates, 0);
}

/// A planned switchover under load, and back.
#[test]
#[ignore = "takes minutes: make test-fleet"]
fn no_id_comes_twice_in_planned_switchovers() {
    if lacks(NEEDED) {
        return;
    }
    let plan = Plan { identity: Identity::Shared, failover_margin: "0", synchronous_mode: false };
    let mut outcome = Outcome::of("c: switchover, shared identity, 0", "0");
    let fleet = Fleet::start(plan);
    let (received, stop) = (Received::default(), AtomicBool::new(false));
    thread::scope(|scope| {
        let _stop = StopOnDrop(&stop);
        for task in [insert, insert, take, take] {
            received.client(scope, fleet.config(&[0, 1, 2]), task, &stop);
        }
        for (old, new) in [(0, 1), (1, 0)] {
            received.wait_for(LOAD);
            fleet.set_clocks(&[new], BEHIND);
            let [from, to] = [old, new].map(|number| &fleet.members[number]);
            let asked = Instant::now();
            let answer = scope.spawn(|| switch_over(from, to));
            first_id(&fleet, &[new], &received);
            let time = asked.elapsed();
            println!("{}", answer.join().expect("a thread"));
            let failover = Failover::between(from, to, &received, time);
            received.wait_for(FILL);
            outcome.report(&failover, received.count(), received.duplicates(&Received::default()));
            fleet.set_clocks(&[new], "+0");
            fleet.wait_for_standbys(new);
            fleet.assert_well(&[ORIGIN]);
        }
    });
    assert_eq!(outcome.lost, 0);
    assert_eq!(outcome.duplicates, 0);
}

/// What Patroni answers to a planned switchover.
fn switch_over(from: &Member, to: &Member) -> String {
    let body = format!(r#"{{"leader": "{}", "candidate": "{}"}}"#, from.name, to.name);
    let answer = from.post("/switchover", &body).expect("an answer");
    answer.lines().last().expect("a line").into()
}

/// Patroni ends on a primary that goes on: another member is promoted, and clients use both. Rows
/// are inserted from then on: while the WAL of the standbys grows, each finds that the other is
/// ahead, and does not stand for election.
fn run_on(outcome: &mut Outcome, fleet: &mut Fleet, end_patroni: fn(&mut Member)) {
    let (old, new) = (Received::default(), Received::default());
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = StopOnDrop(&stop);
        for task in [take, take] {
            old.client(scope, fleet.config(&[0]), task, &stop);
        }
        old.wait_for(LOAD);
        end_patroni(&mut fleet.members[0]);
        let ended = Instant::now();
        first_id(fleet, &[1, 2], &new);
        let time = ended.elapsed();
        let primary = fleet.primary(&[1, 2]);
        old.client(scope, fleet.config(&[0]), insert, &stop);
        for task in [insert, take, take] {
            new.client(scope, fleet.config(&[primary]), task, &stop);
        }
        thread::sleep(OVERLAP);
        old.wait_for(LOAD);
        new.wait_for(LOAD);
        let failover = Failover::between(&fleet.members[0], &fleet.members[primary], &old, time);
        let ids = old.count() + new.count();
        outcome.report(&failover, ids, old.duplicates(&new));
    });
}

/// Asserts that each member has a worker ID of its own, and that `snowflake_check()` names the file
/// that it comes from.
fn assert_own_identities(fleet: &Fleet, file: impl Fn(&Member) -> PathBuf) {
    for (number, member) in fleet.members.iter().enumerate() {
        let mut client = member.connect();
        let worker = bigint(&mut client, "SELECT worker_id::bigint FROM snowflake_status");
        assert_eq!(worker, number as i64 + 1);
        let (_, detail, _) = check(&mut client, ORIGIN);
        for setting in ["snowflake.datacenter_id", "snowflake.worker_id"] {
            let origin = format!("{setting}: {}, line ", file(member).display());
            assert!(detail.contains(&origin), "{}: {detail}", member.name);
        }
        println!("{}: {detail}", member.name);
    }
}

/// With an identity for each member, in the local parameters of Patroni, two primaries issue no ID
/// twice, and a condition keeps each identity from being valid on another machine. When Patroni comes
/// back, the old primary is rewound, and keeps its identity.
#[test]
#[ignore = "takes minutes: make test-fleet"]
fn no_id_comes_twice_where_each_identity_is_in_parameters() {
    if lacks(NEEDED) {
        return;
    }
    let plan =
        Plan { identity: Identity::OwnParameters, failover_margin: "0", synchronous_mode: false };
    let mut outcome = Outcome::of("d: old primary runs on, an identity for each member, 0", "0");
    let mut fleet = Fleet::start(plan);
    let file = |member: &Member| member.data().join("postgresql.conf");
    assert_own_identities(&fleet, file);
    run_on(&mut outcome, &mut fleet, Member::pause_patroni);
    assert_eq!(outcome.duplicates, 0);
    // A paused Patroni that goes on can take the lock back from the new primary: it is replaced.
    fleet.members[0].start();
    fleet.wait_for_standbys(fleet.primary(&[1, 2]));
    assert_own_identities(&fleet, file);
    // The identity holds on this machine alone.
    fleet.assert_well(&[]);
}

/// The same with identities outside of the data directories, which `snowflake_check()` does not
/// warn about.
#[test]
#[ignore = "takes minutes: make test-fleet"]
fn no_id_comes_twice_where_each_identity_is_in_a_file() {
    if lacks(NEEDED) {
        return;
    }
    let plan = Plan { identity: Identity::OwnFile, failover_margin: "0", synchronous_mode: false };
    let mut outcome = Outcome::of("d: the same, identities in files", "0");
    let mut fleet = Fleet::start(plan);
    let file = |member: &Member| member.file("snowflake.conf");
    assert_own_identities(&fleet, file);
    run_on(&mut outcome, &mut fleet, Member::kill_patroni);
    assert_eq!(outcome.duplicates, 0);
    fleet.members[0].start();
    fleet.wait_for_standbys(fleet.primary(&[1, 2]));
    assert_own_identities(&fleet, file);
    fleet.assert_well(&[]);
}

/// With a shared identity, nothing can help.
#[test]
#[ignore = "takes minutes: make test-fleet"]
fn an_old_primary_with_a_shared_identity_issues_duplicates() {
    if lacks(NEEDED) {
        return;
    }
    let plan = Plan { identity: Identity::Shared, failover_margin: "0", synchronous_mode: false };
    let mut outcome = Outcome::of("e: old primary runs on, shared identity, 0", "more than 0");
    let mut fleet = Fleet::start(plan);
    run_on(&mut outcome, &mut fleet, Member::kill_patroni);
    assert!(outcome.duplicates > 0, "the tests cannot see duplicates");
}
