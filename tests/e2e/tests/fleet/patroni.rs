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
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};
use std::{env, fs};

use postgres::NoTls;
use postgres::error::SqlState;
use snowflake_e2e::{
    Request, Run, StopOnDrop, bigint, bigints, check, error_of, eventually, fleet_program,
    listening_ports, output, value,
};

use fleet::{Fleet, Identity};
use member::Member;
use received::{Received, Task, duplicates, insert, take, take_and_commit};
use snowflake_repository::page;

/// The time for which no WAL is sent before a primary dies.
const LAG: Duration = Duration::from_secs(3);

/// The clocks of standbys before a failover. This is longer than a failover takes.
const BEHIND: &str = "-300s";

/// The smallest number of IDs that clients receive before a failover.
const LOAD: usize = 50_000;

/// The smallest number that they receive after it. A new primary whose clock is behind issues 256
/// IDs for each millisecond above the floor, so these fill more than half a second in which the old
/// primary was busy.
const FILL: usize = 150_000;

/// The time for which two primaries issue IDs side by side. After a start, IDs are ahead of the
/// clock by up to two seconds.
const OVERLAP: Duration = Duration::from_secs(4);

/// The row of `snowflake_check()` on an identity that Patroni writes into the data directory.
const ORIGIN: &str = "origin of the identity";

/// Waits for the first ID that one of some members issues, and writes it down.
fn first_id(fleet: &Fleet, among: &[usize], received: &Received) -> Duration {
    let (config, start) = (fleet.config(among), Instant::now());
    eventually("an ID after the failover", || {
        config.connect(NoTls).and_then(|mut client| insert(&mut client, received)).is_ok()
    });
    start.elapsed()
}

/// Looks at the new primary after a failover: how many rows that were acknowledged it lacks.
fn lost_rows(from: &Member, to: &Member, received: &Received, time: Duration) -> usize {
    let (rows, time) = (received.take_rows(), time.as_secs_f64());
    let kept: HashSet<i64> =
        bigints(&mut to.connect(), "SELECT id FROM orders").into_iter().collect();
    let lost = rows.iter().filter(|id| !kept.contains(id)).count();
    let (from, to, rows) = (from.name, to.name, rows.len());
    println!("{from} to {to}: {lost} of {rows} rows lost, first ID after {time:.1} s");
    lost
}

/// Kills a primary that has not sent its last WAL, as often as said. The killed one comes back by
/// pg_rewind, and is a candidate for the next failover. Returns how many rows were lost, and how
/// many IDs came twice.
fn lose_power(mut fleet: Fleet, task: Task, times: usize) -> (usize, usize) {
    let (received, stop) = (Received::default(), AtomicBool::new(false));
    let mut lost = 0;
    thread::scope(|scope| {
        let _stop = StopOnDrop(&stop);
        for task in [insert, insert, task, task] {
            received.client(scope, fleet.config(&[0, 1, 2]), task, &stop);
        }
        let mut old = 0;
        for _ in 0..times {
            received.wait_for(LOAD);
            fleet.assert_well(fleet.doubt());
            let others = fleet.others(old);
            fleet.set_clocks(&others, BEHIND);
            fleet.stop_sending(old);
            thread::sleep(LAG);
            fleet.members[old].lose_power();
            let time = first_id(&fleet, &others, &received);
            let new = fleet.primary(&others);
            lost += lost_rows(&fleet.members[old], &fleet.members[new], &received, time);
            fleet.members[old].start();
            received.wait_for(FILL);
            fleet.set_clocks(&others, "+0");
            fleet.wait_for_standbys(new);
            assert!(fleet.members[old].log().contains("running pg_rewind"));
            fleet.assert_well(fleet.doubt());
            let floor = "SELECT snowflake_max(snowflake_floor())";
            let expected = bigint(&mut fleet.members[new].connect(), floor);
            let mut client = fleet.members[old].connect();
            eventually("the floor comes back", || bigint(&mut client, floor) >= expected);
            old = new;
        }
    });
    (lost, duplicates(&[&received]))
}

/// Each port of a fleet is open to everybody on the machine. Who does not know the password gets
/// no session, and changes nothing in Patroni or etcd.
#[test]
#[ignore = "starts a fleet: make test-fleet"]
fn nobody_gets_power_over_a_fleet_without_its_password() {
    let Some(fleet) = Fleet::start(Identity::Shared, "0", false) else { return };
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
            let (status, _) = Request::new(method, path, body).ask(member.api).expect("an answer");
            assert_eq!(status, 401, "{method} {path} of {}", member.name);
        }
        assert_eq!(value::<String>(&mut member.connect(), "SHOW unix_socket_permissions"), "0700");
    }
    assert_eq!(listening_ports(fleet.etcd.service.pid()), [fleet.etcd.port].into());
    // The key "a".
    for (path, body) in [
        ("/v3/kv/put", r#"{"key": "YQ==", "value": "YQ=="}"#),
        ("/v3/kv/range", r#"{"key": "YQ=="}"#),
        ("/v3/kv/deleterange", r#"{"key": "YQ=="}"#),
        ("/v3/auth/disable", "{}"),
        ("/v3/auth/user/add", r#"{"name": "other", "password": "other"}"#),
    ] {
        let answer = Request::new("POST", path, body).ask(fleet.etcd.port);
        let (status, said) = answer.expect("an answer");
        assert!(status == 400 && said.contains("user name is empty"), "{path}: {status} {said}");
    }
}

/// The margin covers WAL that was lost, failover after failover.
#[test]
#[ignore = "takes minutes: make test-fleet"]
fn lost_wal_is_covered_by_the_margin() {
    let Some(fleet) = Fleet::start(Identity::Shared, "15s", false) else { return };
    let (lost, duplicates) = lose_power(fleet, take, 3);
    assert!(lost > 0, "no WAL was lost, so there was nothing to cover");
    assert_eq!(duplicates, 0);
}

/// The same without a margin: the other tests would see duplicates.
#[test]
#[ignore = "takes minutes: make test-fleet"]
fn lost_wal_without_a_margin_brings_ids_back() {
    let Some(fleet) = Fleet::start(Identity::Shared, "0", false) else { return };
    let (lost, duplicates) = lose_power(fleet, take, 1);
    assert!(lost > 0);
    assert!(duplicates > 0, "the tests cannot see duplicates");
}

/// With `synchronous_mode`, no ID that a committed transaction returned comes back, even if it
/// wrote no row. The standby that is synchronous has the floor before the primary dies:
/// `snowflake_check()` says so.
#[test]
#[ignore = "takes minutes: make test-fleet"]
fn committed_ids_are_covered_by_synchronous_mode() {
    let Some(fleet) = Fleet::start(Identity::Shared, "0", true) else { return };
    assert_eq!(lose_power(fleet, take_and_commit, 2), (0, 0));
}

/// Members that keep their numbers, which are in their names, need no margin and no act by hand.
/// `FAILOVERS` says how many.
#[test]
#[ignore = "takes minutes: make test-fleet"]
fn members_with_one_configuration_keep_their_numbers() {
    let Some(fleet) = Fleet::start(Identity::Names, "0", false) else { return };
    let times = env::var("FAILOVERS").map_or(4, |times| times.parse().expect("a number"));
    let (lost, duplicates) = lose_power(fleet, take, times);
    assert!(lost > 0, "no WAL was lost");
    assert_eq!(duplicates, 0);
}

/// Follows the page in a cluster that runs already, and then does all that happens to a cluster. No
/// step after that concerns identities.
#[test]
#[ignore = "takes minutes: make test-fleet"]
fn a_running_cluster_is_set_up_as_the_page_says() {
    let Some(mut fleet) = Fleet::start(Identity::Nothing, "0", false) else { return };
    let received = Received::default();
    let patronictl = |fleet: &Fleet, arguments: &[&str]| {
        let mut patronictl = fleet_program("patronictl");
        patronictl.arg("-c").arg(fleet.members[0].file("patroni.yml"));
        println!("{}", output(patronictl.args(arguments)));
    };
    let blocks = page("docs/setup.md").section("Patroni").blocks();
    let lines = blocks.iter().find(|block| block.language == "yaml").expect("lines");
    let file = fleet.members[0].file("lines.yml");
    fs::write(&file, &lines.text).expect("a directory to write to");
    let file = file.to_string_lossy().into_owned();
    patronictl(&fleet, &["edit-config", "orders", "--force", "--quiet", "--apply", &file]);
    for member in &fleet.members {
        eventually("the lines are there", || {
            let text = fs::read_to_string(member.data().join("postgresql.conf"));
            text.is_ok_and(|text| text.contains("snowflake.worker_id_from"))
        });
    }
    let restart = |fleet: &Fleet, member: usize| {
        let name = fleet.members[member].name;
        patronictl(fleet, &["restart", "orders", name, "--force"]);
        fleet.wait_for_standbys(fleet.primary(&[0, 1, 2]));
    };
    let switch = |fleet: &Fleet, new: usize| {
        let name = fleet.members[new].name;
        patronictl(fleet, &["switchover", "orders", "--force", "--candidate", name]);
        fleet.primary(&[new]);
        fleet.wait_for_standbys(new);
    };
    let check_all = |fleet: &Fleet| {
        let all: Vec<usize> = (0..fleet.members.len()).collect();
        let leader = fleet.primary(&all);
        fleet.assert_well(&[]);
        for (member, worker) in fleet.members.iter().zip(1..) {
            let (ok, detail, _) = check(&mut member.connect(), "identity");
            assert!(ok && detail == format!("Datacenter 1, worker {worker}."), "{detail}");
        }
        let mut client = fleet.members[leader].connect();
        for _ in 0..20 {
            take(&mut client, &received).expect("IDs");
        }
        leader
    };
    restart(&fleet, 1);
    restart(&fleet, 2);
    switch(&fleet, 1);
    let mut client = fleet.members[1].connect();
    client.run("CREATE EXTENSION IF NOT EXISTS snowflake");
    assert_eq!(check_all(&fleet), 1);

    switch(&fleet, 0);
    let mut leader = check_all(&fleet);
    for _ in 0..2 {
        fleet.members[leader].lose_power();
        let others = fleet.others(leader);
        let new = fleet.primary(&others);
        fleet.members[leader].start();
        fleet.wait_for_standbys(new);
        leader = check_all(&fleet);
        assert_eq!(leader, new);
    }
    // Filled again, and replaced under its old name.
    let other = fleet.others(leader)[0];
    patronictl(&fleet, &["reinit", "orders", fleet.members[other].name, "--force", "--wait"]);
    fleet.wait_for_standbys(leader);
    check_all(&fleet);
    fleet.members[other].lose_power();
    fs::remove_dir_all(fleet.members[other].data()).expect("a directory of ours");
    fleet.members[other].start();
    fleet.wait_for_standbys(leader);
    check_all(&fleet);
    fleet.add("four");
    fleet.wait_for_standbys(leader);
    check_all(&fleet);
    switch(&fleet, 3);
    assert_eq!(check_all(&fleet), 3);
    assert_eq!(duplicates(&[&received]), 0);
}

/// A planned switchover under load, and back.
#[test]
#[ignore = "takes minutes: make test-fleet"]
fn no_id_comes_twice_in_planned_switchovers() {
    let Some(fleet) = Fleet::start(Identity::Shared, "0", false) else { return };
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
            let mut patronictl = fleet_program("patronictl");
            patronictl.arg("-c").arg(from.file("patroni.yml"));
            patronictl.args(["switchover", "orders", "--force", "--candidate", to.name]);
            let answer = scope.spawn(move || output(&mut patronictl));
            let time = first_id(&fleet, &[new], &received);
            println!("{}", answer.join().expect("a thread"));
            assert_eq!(lost_rows(from, to, &received, time), 0);
            received.wait_for(FILL);
            fleet.set_clocks(&[new], "+0");
            fleet.wait_for_standbys(new);
            fleet.assert_well(fleet.doubt());
        }
    });
    assert_eq!(duplicates(&[&received]), 0);
}

/// Patroni ends on a primary that goes on: another member is promoted, and clients use both. Rows
/// are inserted from then on: while the WAL of the standbys grows, each finds that the other is
/// ahead, and does not stand for election. Returns how many IDs came twice.
fn run_on(fleet: &mut Fleet, end_patroni: fn(&mut Member)) -> usize {
    let (old, new) = (Received::default(), Received::default());
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = StopOnDrop(&stop);
        for task in [take, take] {
            old.client(scope, fleet.config(&[0]), task, &stop);
        }
        old.wait_for(LOAD);
        end_patroni(&mut fleet.members[0]);
        let time = first_id(fleet, &[1, 2], &new);
        let primary = fleet.primary(&[1, 2]);
        old.client(scope, fleet.config(&[0]), insert, &stop);
        for task in [insert, take, take] {
            new.client(scope, fleet.config(&[primary]), task, &stop);
        }
        thread::sleep(OVERLAP);
        old.wait_for(LOAD);
        new.wait_for(LOAD);
        lost_rows(&fleet.members[0], &fleet.members[primary], &old, time);
    });
    duplicates(&[&old, &new])
}

/// With an identity for each member, two primaries issue no ID twice. When Patroni comes back, the
/// old primary is rewound, and keeps its identity, of which `snowflake_check()` names the file, and
/// says that it holds on this machine alone.
fn keep_identities(identity: Identity, file: fn(&Member) -> PathBuf, end_patroni: fn(&mut Member)) {
    let Some(mut fleet) = Fleet::start(identity, "0", false) else { return };
    let assert_own_identities = |fleet: &Fleet| {
        for (member, worker) in fleet.members.iter().zip(1..) {
            let mut client = member.connect();
            let found = bigint(&mut client, "SELECT worker_id::bigint FROM snowflake_status");
            assert_eq!(found, worker);
            let (_, detail, _) = check(&mut client, ORIGIN);
            for setting in ["snowflake.datacenter_id", "snowflake.worker_id"] {
                let origin = format!("{setting}: {}, line ", file(member).display());
                assert!(detail.contains(&origin), "{}: {detail}", member.name);
            }
            println!("{}: {detail}", member.name);
        }
    };
    assert_own_identities(&fleet);
    assert_eq!(run_on(&mut fleet, end_patroni), 0);
    // A paused Patroni that goes on can take the lock back from the new primary: it is replaced.
    fleet.members[0].start();
    fleet.wait_for_standbys(fleet.primary(&[1, 2]));
    assert_own_identities(&fleet);
    fleet.assert_well(&[]);
}

/// The identities are in the local parameters of Patroni, where a condition keeps each from being
/// valid on another machine.
#[test]
#[ignore = "takes minutes: make test-fleet"]
fn no_id_comes_twice_where_each_identity_is_in_parameters() {
    let file = |member: &Member| member.data().join("postgresql.conf");
    keep_identities(Identity::OwnParameters, file, Member::pause_patroni);
}

/// They are outside of the data directories, which `snowflake_check()` does not warn about.
#[test]
#[ignore = "takes minutes: make test-fleet"]
fn no_id_comes_twice_where_each_identity_is_in_a_file() {
    let file = |member: &Member| member.file("snowflake.conf");
    keep_identities(Identity::OwnFile, file, Member::kill_patroni);
}

/// With a shared identity, nothing can help.
#[test]
#[ignore = "takes minutes: make test-fleet"]
fn an_old_primary_with_a_shared_identity_issues_duplicates() {
    let Some(mut fleet) = Fleet::start(Identity::Shared, "0", false) else { return };
    assert!(run_on(&mut fleet, Member::kill_patroni) > 0, "the tests cannot see duplicates");
}
