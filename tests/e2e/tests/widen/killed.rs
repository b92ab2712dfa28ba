//! Killed at any time, and called again, it goes on.
//!
//! `SNOWFLAKE_WIDEN_KILLS` says how often in each phase; `make soak-widen` sets it to 10.

use std::collections::BTreeMap;
use std::env;
use std::thread;
use std::time::Duration;

use postgres::NoTls;
use snowflake_e2e::{Cluster, eventually};

use super::abandoned::PHASES;
use super::program::{Running, widen};
use super::shops::{ALSO, add_altered_shop, content, owner, schema, sorted, with_shop, write};

/// What is killed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Victim {
    Program,
    Backend,
    Server,
}

/// How often, if the environment does not say it.
fn kills() -> usize {
    env::var("SNOWFLAKE_WIDEN_KILLS").map_or(1, |kills| kills.parse().expect("a number"))
}

#[test]
fn the_program_goes_on_when_it_is_called_again() {
    kill_in_each_phase(Victim::Program, kills());
}

#[test]
fn the_program_goes_on_in_another_session() {
    kill_in_each_phase(Victim::Backend, kills());
}

#[test]
fn the_program_goes_on_when_the_server_is_back() {
    kill_in_each_phase(Victim::Server, kills());
}

/// What happened in each phase, and the writes of the application between.
struct Kills {
    victim: Victim,
    wanted: usize,
    done: BTreeMap<String, usize>,
    writes: usize,
}

fn kill_in_each_phase(victim: Victim, wanted: usize) {
    let mut cluster = with_shop(Cluster::builder());
    add_altered_shop(&cluster);
    let mut kills = Kills { victim, wanted, done: BTreeMap::new(), writes: 0 };
    let before = schema(&cluster, "postgres");
    // A kill may come after the statement that was to be killed.
    for round in 0.. {
        kills.follow(&mut cluster, "prepare");
        let lacking: Vec<&str> =
            PHASES.into_iter().filter(|phase| !kills.is_enough(phase)).collect();
        if lacking.is_empty() {
            break;
        }
        assert!(round < 50, "{lacking:?} end before they are killed: {:?}", kills.done);
        kills.follow(&mut cluster, "abandon");
        assert_eq!(schema(&cluster, "postgres"), before);
    }
    kills.follow(&mut cluster, "swap");
    println!("{victim:?}: {:?}, {} writes between", kills.done, kills.writes);
    let (widened, altered) = (schema(&cluster, "postgres"), schema(&cluster, "plain"));
    let [widened, altered] = [widened, altered].map(|schema| {
        // PostgreSQL writes the columns of a statistics object in their order in the table.
        sorted(&schema.replace("ON weight, parent FROM", "ON parent, weight FROM"))
    });
    assert_eq!(widened, altered);
    let [widened, altered] =
        ["postgres", "plain"].map(|database| content(&mut owner(&cluster, database)));
    assert_eq!(widened, altered);
    assert!(kills.done.contains_key("swap"), "{:?}", kills.done);
}

impl Kills {
    fn is_enough(&self, phase: &str) -> bool {
        self.done.get(phase).is_some_and(|done| *done >= self.wanted)
    }

    /// Runs the program, again if it is the victim, until it says that it has reached its goal.
    fn follow(&mut self, cluster: &mut Cluster, goal: &str) {
        let words = [&[goal, "orders"], &ALSO[..]].concat();
        loop {
            let mut running = Running::start(widen(cluster, &words));
            let mut phase = String::new();
            loop {
                let Some(line) = running.line() else {
                    let said = running.end();
                    assert_eq!(said.code, Some(0), "{:?}: {said:?}", self.done);
                    return;
                };
                let begins = line.split(':').next().unwrap_or_default();
                if PHASES.contains(&begins) || ["swap", "abandon"].contains(&begins) {
                    phase = begins.to_owned();
                } else if line != "connected again" {
                    continue;
                }
                if self.is_enough(&phase) || phase.is_empty() {
                    continue;
                }
                *self.done.entry(phase.clone()).or_default() += 1;
                thread::sleep(Duration::from_micros(fastrand::u64(0..5000)));
                match self.victim {
                    Victim::Program => {
                        drop(running);
                        self.write(cluster);
                        break;
                    }
                    Victim::Backend => end_backend(cluster),
                    Victim::Server => {
                        cluster.kill();
                        cluster.start_again();
                    }
                }
                self.write(cluster);
            }
        }
    }

    /// The application writes, here and in the shop that was altered. There are not more rows.
    fn write(&mut self, cluster: &Cluster) {
        if self.writes < 60 {
            self.writes += 1;
            for database in ["postgres", "plain"] {
                write(&mut owner(cluster, database), self.writes);
            }
            // In a crash, a sequence jumps over the values that were logged ahead, unless a checkpoint came after
            // them. Of the two shops, only the one whose swap was committed before the crash would not jump, because
            // a change of its type logs a sequence anew.
            cluster.connect().batch_execute("CHECKPOINT").expect("a checkpoint");
        }
    }
}

/// Ends the session that executes, and not the one that observes it.
fn end_backend(cluster: &Cluster) {
    let mut client = cluster.config().connect(NoTls).expect("a session");
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE application_name LIKE 'snowflake-widen%'
                   AND application_name <> 'snowflake-widen, observing'";
    let mut ended = false;
    eventually("it has a session", || {
        ended |= !client.query(end, &[]).expect("rows").is_empty();
        ended
    });
}
