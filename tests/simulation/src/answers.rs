//! Answers that are older than their questions: how many there are where the clocks of servers
//! differ, with and without observation.
//!
//! A question is an ID of one server, of which another one is told a little later. The answer is
//! the next ID of that one. It is older if it is smaller than the question.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fastrand::Rng;
use snowflake_core::layout::Ids;
use snowflake_core::time::Span;

use crate::cluster::{Cluster, LAYOUT};
use crate::machine::{MILLISECOND, Machine, SECOND};
use crate::options::{BEGIN, NODES};

/// Questions of a measurement.
const QUESTIONS: usize = 1_000_000;

/// In true time, so many microseconds pass between two questions of the whole fleet.
const PAUSE: i64 = 50;

/// For how long a message is under way, in microseconds.
const UNDER_WAY: std::ops::Range<i64> = 200..5 * MILLISECOND;

/// The lead, in milliseconds, to which a server lets itself be taken beyond twice the largest error
/// of a clock: the sequence of a millisecond might be used up.
const BEYOND: i64 = 10;

/// The errors of clocks that are measured, in milliseconds.
pub const SPREADS: [i64; 5] = [1, 3, 10, 30, 100];

/// The result of a world.
#[derive(Clone, Copy, Debug)]
pub struct Answers {
    /// The largest error of a clock, ms.
    pub spread: i64,
    /// Servers whose clock is an hour ahead.
    pub wrong: usize,
    /// The limit of an observed lead; `None` where servers do not observe.
    pub limit: Option<Span>,
    /// Answers that are older than their question.
    pub older: usize,
    /// Questions that were not followed.
    pub refused: usize,
    /// The farthest that a server with a right clock was ahead of it.
    pub lead: Span,
}

impl Answers {
    /// The part of all answers that is older.
    pub fn part(&self) -> f64 {
        self.older as f64 / QUESTIONS as f64
    }
}

/// Measures answers where clocks are off by up to `spread` ms, so many servers are an hour ahead,
/// and servers observe what they are told of, or do not.
pub fn measure(seed: u64, spread: i64, wrong: usize, observe: bool) -> Answers {
    let mut rng = Rng::with_seed(seed);
    let workers = LAYOUT.last_worker_id() + 1;
    let server = |node: usize| {
        let [mut machine, standby] =
            [0; 2].map(|_| Machine::new(&mut rng, BEGIN, spread * MILLISECOND, 0));
        if node < wrong {
            machine.set(BEGIN, 3600 * SECOND);
        }
        let node = node as u32;
        let ids = LAYOUT.ids(node / workers, node % workers).expect("an identity");
        (Cluster::new(&mut rng, BEGIN, machine, standby, false), ids)
    };
    let servers = (0..NODES).map(server).collect();
    let limit = observe.then_some(Span(2 * spread + BEYOND));
    let found = Answers { spread, wrong, limit, older: 0, refused: 0, lead: Span::ZERO };
    let mut fleet = Fleet { rng, servers, under_way: BinaryHeap::new(), found };
    for question in 0..QUESTIONS {
        let at = BEGIN + question as i64 * PAUSE;
        fleet.answer_until(at);
        let [from, to] = [0; 2].map(|_| fleet.rng.usize(0..NODES));
        let (id, at) = fleet.take(from, at);
        let arrives = at + fleet.rng.i64(UNDER_WAY);
        fleet.under_way.push(Reverse((arrives, to, id)));
    }
    fleet.answer_until(i64::MAX);
    fleet.found
}

struct Fleet {
    rng: Rng,
    servers: Vec<(Cluster, Ids)>,
    /// When each question arrives, where, and its ID.
    under_way: BinaryHeap<Reverse<(i64, usize, i64)>>,
    found: Answers,
}

impl Fleet {
    /// Answers all questions that arrive until then.
    fn answer_until(&mut self, until: i64) {
        let timestamp = |id| LAYOUT.decompose(id).expect("an ID").timestamp;
        while self.under_way.peek().is_some_and(|question| question.0.0 <= until) {
            let Some(Reverse((mut at, to, question))) = self.under_way.pop() else { return };
            if let Some(limit) = self.found.limit {
                let cluster = &mut self.servers[to].0;
                let is_followed =
                    cluster.observe(&mut self.rng, &mut at, timestamp(question), limit);
                self.found.refused += usize::from(!is_followed);
            }
            let (answer, at) = self.take(to, at);
            self.found.older += usize::from(answer < question);
            if to >= self.found.wrong {
                let lead = timestamp(answer) - self.servers[to].0.machine.wall(at);
                self.found.lead = self.found.lead.max(lead);
            }
        }
    }

    /// The next ID of a server, and when it has it.
    fn take(&mut self, server: usize, mut at: i64) -> (i64, i64) {
        let (cluster, ids) = &mut self.servers[server];
        let run = cluster.take(&mut self.rng, &mut at, None, 1).expect("nothing goes wrong");
        (ids.compose(run.timestamp, run.first), at)
    }
}
