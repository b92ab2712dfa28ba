//! Answers that are older than their questions: how many there are where the clocks of servers differ,
//! with and without observation.
//!
//! A question is an ID of one server, of which another one is told a little later. The answer is the
//! next ID of that one. It is older if it is smaller than the question.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write;

use fastrand::Rng;
use snowflake_core::layout::Ids;

use crate::cluster::{Cluster, LAYOUT};
use crate::machine::{MILLISECOND, Machine, SECOND};
use crate::options::{BEGIN, NODES};
use crate::report::grouped;

/// Questions of a measurement.
const QUESTIONS: usize = 1_000_000;

/// In true time, so many microseconds pass between two questions of the whole fleet.
const PAUSE: i64 = 50;

/// For how long a message is under way, in microseconds.
const UNDER_WAY: std::ops::Range<i64> = 200..5 * MILLISECOND;

/// How far ahead of its clock a server lets itself be taken beyond twice the largest error of a
/// clock, in milliseconds: the sequence of a millisecond might be used up.
const BEYOND: i64 = 10;

/// What was found at one error of the clocks.
pub struct Answers {
    /// How far a clock is off at most, ms.
    pub spread: i64,
    /// How many servers have a clock that is an hour ahead.
    pub wrong: usize,
    /// How many answers there were.
    pub answers: usize,
    /// How many are older than their question, without observation and with it.
    pub older: [usize; 2],
    /// How many questions were not followed.
    pub refused: usize,
    /// The farthest that a server with a right clock was ahead of it, with observation, and how far it
    /// may be, ms.
    pub lead: i64,
    /// See there.
    pub limit: i64,
}

/// The errors of clocks that are measured, in milliseconds.
const SPREADS: [i64; 5] = [1, 3, 10, 30, 100];

/// Measures answers at each error of the clocks, and with a clock that is an hour ahead.
pub fn measure(seed: u64) -> Vec<Answers> {
    let right = SPREADS.iter().map(|spread| of(seed, *spread, 0));
    right.chain([of(seed, 10, 1)]).collect()
}

/// Answers where clocks are off by up to `spread` ms, and so many servers are an hour ahead.
pub fn of(seed: u64, spread: i64, wrong: usize) -> Answers {
    let limit = 2 * spread + BEYOND;
    let [without, with] =
        [None, Some(limit)].map(|limit| Fleet::new(seed, spread, wrong).run(limit));
    assert_eq!(without.answers, with.answers);
    Answers {
        spread,
        wrong,
        answers: with.answers,
        older: [without.older, with.older],
        refused: with.refused,
        lead: with.lead,
        limit,
    }
}

/// What a run has counted.
#[derive(Default)]
struct Run {
    answers: usize,
    older: usize,
    refused: usize,
    lead: i64,
}

struct Fleet {
    rng: Rng,
    servers: Vec<(Cluster, Ids)>,
    wrong: usize,
}

impl Fleet {
    fn new(seed: u64, spread: i64, wrong: usize) -> Fleet {
        let mut rng = Rng::with_seed(seed);
        let workers = LAYOUT.last_worker_id() + 1;
        let servers = (0..NODES as u32)
            .map(|node| {
                let [mut machine, standby] =
                    [0; 2].map(|_| Machine::new(&mut rng, BEGIN, spread * MILLISECOND, 0));
                if (node as usize) < wrong {
                    machine.set(BEGIN, 3600 * SECOND);
                }
                let cluster = Cluster::new(&mut rng, BEGIN, machine, standby, false);
                let ids = LAYOUT.ids(node / workers, node % workers).expect("an identity");
                (cluster, ids)
            })
            .collect();
        Fleet { rng, servers, wrong }
    }

    /// Asks all questions. With a limit, servers observe what they are told of.
    fn run(mut self, limit: Option<i64>) -> Run {
        let mut counted = Run::default();
        let mut under_way = BinaryHeap::new();
        for question in 0..QUESTIONS {
            let at = BEGIN + question as i64 * PAUSE;
            while let Some(Reverse((arrives, _, _))) = under_way.peek()
                && *arrives <= at
            {
                let Some(Reverse((arrives, to, id))) = under_way.pop() else { break };
                self.answer(to, id, arrives, limit, &mut counted);
            }
            let [from, to] = [0; 2].map(|_| self.rng.usize(0..NODES));
            let (id, at) = self.take(from, at);
            under_way.push(Reverse((at + self.rng.i64(UNDER_WAY), to, id)));
        }
        for Reverse((arrives, to, id)) in under_way.into_sorted_vec().into_iter().rev() {
            self.answer(to, id, arrives, limit, &mut counted);
        }
        counted
    }

    fn answer(&mut self, to: usize, question: i64, at: i64, limit: Option<i64>, counted: &mut Run) {
        let mut at = at;
        if let Some(limit) = limit {
            let asked = LAYOUT.decompose(question).expect("an ID").timestamp;
            let cluster = &mut self.servers[to].0;
            let is_followed = cluster.observe(&mut self.rng, &mut at, asked, limit);
            counted.refused += usize::from(!is_followed);
        }
        let (answer, at) = self.take(to, at);
        counted.answers += 1;
        counted.older += usize::from(answer < question);
        if to >= self.wrong {
            let timestamp = LAYOUT.decompose(answer).expect("an ID").timestamp;
            counted.lead = counted.lead.max(timestamp - self.servers[to].0.machine.wall(at));
        }
    }

    /// The next ID of a server, and when it has it.
    fn take(&mut self, server: usize, mut at: i64) -> (i64, i64) {
        let (cluster, ids) = &mut self.servers[server];
        let run = cluster.take(&mut self.rng, &mut at, None, 1).expect("nothing goes wrong");
        (ids.compose(run.timestamp, run.first), at)
    }
}

/// What was found, as a table.
pub fn table(all: &[Answers]) -> String {
    let mut text = String::from(
        "Answers that are older than their question, on another server; a message takes 0.2 to 5 ms.\n",
    );
    let line = |text: &mut String, name: &str, cells: [String; 5]| {
        write!(text, "{name:<31}").expect("a string");
        cells.iter().for_each(|cell| write!(text, " {cell:>10}").expect("a string"));
        text.push('\n');
    };
    let titles = ["answers", "without", "with", "refused", "lead, ms"].map(str::to_owned);
    line(&mut text, "", titles);
    for Answers { spread, wrong, answers, older: [without, with], refused, lead, limit } in all {
        let name = match wrong {
            0 => format!("clocks right within {spread} ms"),
            _ => format!("the same, {spread} ms, one 1 h ahead"),
        };
        let numbers = [answers, without, with, refused].map(|number| grouped(*number as u64));
        let [answers, without, with, refused] = numbers;
        let lead = format!("{lead} of {limit}");
        line(&mut text, &name, [answers, without, with, refused, lead]);
    }
    text
}
