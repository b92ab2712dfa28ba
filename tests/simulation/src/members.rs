//! Members of one cluster, each with a number of its own that it keeps: promotions in any order,
//! WAL that is lost, old primaries that go on until they are rewound, restarts, observed IDs and
//! floors.
//!
//! One world, two drivers: a model checker that goes through every order of few events, and chance,
//! for millions of them.

use std::time::Duration;

use fastrand::Rng;
use snowflake_core::call;
use snowflake_core::generator::{Decision, Generator, Limits, RESERVATION, Reading, Seen};
use snowflake_core::issuer::Issuer;
use snowflake_core::jump::{BootClock, Clocks};
use snowflake_core::promise::{Promise, Request};
use snowflake_core::register::{Record, Writer};
use snowflake_core::ring::Ring;
use snowflake_core::time::{Span, Timestamp};

use crate::cluster::LAYOUT;
use crate::effects::{self, Answer, Effect};

/// The members of a cluster.
pub const MEMBERS: usize = 3;

/// When the world begins.
const START: Timestamp = Timestamp(1_800_000_000_000);

/// For how long the machines have run then.
const BOOT: Span = Span(1_000_000_000);

/// Nobody queues, because an ID of the queue is returned once the clock is there, like any other.
const LIMITS: Limits = Limits {
    max_burst: Some(Span::ZERO),
    reuse_window: Span::ZERO,
    max_backward_step: None,
    max_wait: Some(Span::ZERO),
    max_queue: Span::ZERO,
};

/// The design, and the ways in which it could be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Design {
    /// As it is.
    Sound,
    /// A promotion reserves with its first ID alone.
    NoReservation,
    /// A member leads again as soon as its clock says what its last ID does, not more.
    ClockOfTheLastId,
    /// It is enough that the floor reaches the millisecond before its last ID.
    ReachOneLess,
    /// No condition at all.
    NoCondition,
}

/// The rules that are the same for all members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    /// The design, right or wrong.
    pub design: Design,
    /// `snowflake.failover_margin`.
    pub margin: Span,
    /// `snowflake.max_observed_lead`.
    pub max_observed_lead: Span,
    /// The last sequence of a millisecond.
    pub last_sequence: u32,
}

/// Something that happens to a member, or to all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Happening {
    /// A client takes an ID of a primary.
    Take(usize),
    /// The clock of a member is set, by so much.
    Move(usize, Span),
    /// Time passes.
    Pass(Span),
    /// A standby gets all WAL of the leader.
    Send(usize),
    /// A standby is promoted. The old leader goes on, as far as it knows.
    Promote(usize),
    /// The background worker of a member that was promoted reserves.
    Work(usize),
    /// A member becomes a standby of the leader, with its WAL.
    Rewind(usize),
    /// A primary ends, and starts again.
    Restart(usize),
    /// A primary observes an ID that is so far ahead of its clock.
    Observe(usize, Span),
    /// The floor of a primary is set so far ahead of its clock.
    SetFloor(usize, Span),
}

/// An entry of the WAL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Entry {
    /// A promotion, and the clock of who was promoted.
    Timeline(u32, Timestamp),
    Reservation(Record),
}

/// The memory of a primary.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Memory {
    promise: Promise,
    generator: Generator,
}

/// A member: its clock, what it has received or written, and its own IDs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Member {
    /// The lead of the clock over true time.
    ahead: Span,
    wal: Vec<Entry>,
    /// True if it is a primary, or believes so.
    leads: bool,
    memory: Memory,
    /// The highest ID that was ever issued under its number.
    highest: Option<(Timestamp, u32)>,
    /// True if an ID of it might not be in its WAL.
    has_lost: bool,
}

/// All members.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Members {
    rules: Rules,
    at: Timestamp,
    members: [Member; MEMBERS],
    leader: usize,
    newest_timeline: u32,
    /// An ID that is not above all of its number.
    pub again: Option<(usize, Timestamp)>,
}

fn fresh() -> Memory {
    let generator = Generator::not_begun(LAYOUT.last_timestamp());
    Memory { promise: Promise::default(), generator }
}

impl Member {
    fn clock(&self, at: Timestamp) -> Timestamp {
        at + self.ahead
    }

    fn timeline(&self) -> u32 {
        let timeline = |entry: &Entry| match entry {
            Entry::Timeline(timeline, _) => Some(*timeline),
            Entry::Reservation(_) => None,
        };
        self.wal.iter().rev().find_map(timeline).unwrap_or(1)
    }

    fn record(&self) -> Option<Record> {
        let record = |entry: &Entry| match entry {
            Entry::Reservation(record) => Some(*record),
            Entry::Timeline(..) => None,
        };
        self.wal.iter().rev().find_map(record)
    }
}

impl Members {
    /// A primary and its standbys, whose clocks agree.
    pub fn new(rules: Rules) -> Members {
        let member = |number| Member {
            ahead: Span::ZERO,
            wal: Vec::new(),
            leads: number == 0,
            memory: fresh(),
            highest: None,
            has_lost: false,
        };
        let members = [0, 1, 2].map(member);
        Members { rules, at: START, members, leader: 0, newest_timeline: 1, again: None }
    }

    /// Which events make a difference now.
    pub fn is_possible(&self, happening: Happening) -> bool {
        let follows = |member: usize| {
            let (own, leaders) = (&self.members[member].wal, &self.members[self.leader].wal);
            !self.members[member].leads && leaders.starts_with(own)
        };
        match happening {
            Happening::Take(member) => self.members[member].leads && self.may_issue(member),
            Happening::Move(..) | Happening::Pass(_) => true,
            Happening::Send(member) => {
                follows(member) && self.members[member].wal != self.members[self.leader].wal
            }
            Happening::Promote(member) => !self.members[member].leads,
            Happening::Work(member) => {
                self.rules.design != Design::NoReservation
                    && self.members[member].leads
                    && self.issuer(member).is_promoted(&Ok(self.members[member].record()))
            }
            Happening::Rewind(member) => member != self.leader && !follows(member),
            Happening::Restart(member) => {
                self.members[member].leads && self.members[member].memory.promise.has_begun()
            }
            Happening::Observe(member, _) | Happening::SetFloor(member, _) => {
                self.members[member].leads && self.may_issue(member)
            }
        }
    }

    /// Returns whether the member may issue IDs by what `docs/operations.md` says of a failover. It
    /// says so a second time on purpose: nothing here may be taken from the rules.
    ///
    /// It has lost no ID, or its clock is past the last one, or a primary in between had reserved
    /// by a clock that was, but for the margin and what a reservation is ahead.
    fn may_issue(&self, number: usize) -> bool {
        let member = &self.members[number];
        let Some((last, _)) = member.highest.filter(|_| member.has_lost) else { return true };
        let Rules { design, margin, .. } = self.rules;
        let clock = member.clock(self.at);
        let own = member.timeline();
        let reaches = |timeline: u32, clock: Timestamp| {
            let reach = clock + RESERVATION + margin * i64::from(own - timeline);
            timeline < own
                && last <= if design == Design::ReachOneLess { reach + Span(1) } else { reach }
        };
        let by_others = member.wal.iter().any(|entry| match *entry {
            Entry::Timeline(timeline, clock) => {
                design == Design::NoReservation
                    && member.record().is_some_and(|record| record.timeline < timeline)
                    && reaches(timeline, clock)
            }
            Entry::Reservation(record) => reaches(record.timeline, record.written.wall),
        });
        let is_past = match design {
            Design::ClockOfTheLastId => clock >= last,
            _ => clock > last,
        };
        is_past || by_others || design == Design::NoCondition
    }

    /// Lets it happen.
    pub fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Take(member) => self.take(member),
            Happening::Move(member, by) => {
                let member = &mut self.members[member];
                member.ahead = member.ahead + by;
            }
            Happening::Pass(by) => self.at += by,
            Happening::Send(member) => {
                self.members[member].wal = self.members[self.leader].wal.clone();
            }
            Happening::Promote(member) => {
                self.newest_timeline += 1;
                let clock = self.members[member].clock(self.at);
                let promoted = &mut self.members[member];
                promoted.wal.push(Entry::Timeline(self.newest_timeline, clock));
                (promoted.leads, promoted.memory) = (true, fresh());
                self.leader = member;
            }
            Happening::Work(member) => self.achieve(member, Request::Promoted),
            Happening::Rewind(member) => {
                let wal = self.members[self.leader].wal.clone();
                let rewound = &mut self.members[member];
                rewound.has_lost |= !wal.starts_with(&rewound.wal);
                (rewound.wal, rewound.leads, rewound.memory) = (wal, false, fresh());
            }
            Happening::Restart(member) => self.members[member].memory = fresh(),
            Happening::Observe(member, lead) => self.observe(member, lead),
            Happening::SetFloor(member, by) => {
                let floor = self.members[member].clock(self.at) + by;
                self.achieve(member, Request::SetFloor { floor, force: false });
            }
        }
    }

    /// Takes an ID.
    fn take(&mut self, number: usize) {
        let run = call::take(&mut Client(self, number), 1, &LIMITS).expect("an ID");
        let member = &mut self.members[number];
        let id = (run.timestamp, run.first);
        if member.highest.is_some_and(|highest| id <= highest) {
            self.again = Some((number, run.timestamp));
        }
        member.highest = member.highest.max(Some(id));
        // From here on, its own register and memory know all of them.
        member.has_lost = false;
    }

    fn observe(&mut self, number: usize, lead: Span) {
        let max_lead = self.rules.max_observed_lead;
        let now = self.members[number].clock(self.at);
        let ask = |client: &mut Client| {
            let Memory { promise, generator } = &mut client.0.members[number].memory;
            let observe = || generator.observe(&mut Ring::<1>::new(), now + lead, now, max_lead);
            promise.has_begun().then(observe)
        };
        let client = &mut Client(self, number);
        let came = call::observe(client, now + lead, max_lead, ask, call::Session::reserve);
        assert!(came.is_ok());
    }

    /// Does what a session does with the lock held. All WAL is durable at once.
    fn achieve(&mut self, number: usize, request: Request) {
        let issuer = self.issuer(number);
        let elapsed = BOOT + (self.at - START);
        let now = self.members[number].clock(self.at);
        let boot = BootClock { boot: number as u128 + 1, elapsed };
        let found = self.members[number].record();
        let Member { wal, memory: Memory { promise, generator }, .. } = &mut self.members[number];
        effects::drive(promise, &issuer, request, |effect| {
            Some(match effect {
                Effect::ReadClocks => Answer::Clocks(Clocks { wall: now, boot }),
                Effect::Look => Answer::Looked(*generator),
                Effect::Freeze => {
                    let before = *generator;
                    generator.freeze();
                    Answer::Looked(before)
                }
                Effect::Read => Answer::Read(Ok(found)),
                Effect::Create(record) | Effect::Overwrite(record) => {
                    wal.push(Entry::Reservation(record));
                    Answer::Done
                }
                Effect::Write(record) => {
                    wal.push(Entry::Reservation(record));
                    Answer::Position(wal.len() as u64)
                }
                Effect::AskFlushed => Answer::Position(wal.len() as u64),
                Effect::Raise { floor, reserve_after } => {
                    generator.raise_floor(floor, reserve_after);
                    Answer::Done
                }
                Effect::Restart(started) => {
                    *generator = started;
                    Answer::Done
                }
                _ => Answer::Done,
            })
        });
    }

    fn issuer(&self, number: usize) -> Issuer {
        Issuer {
            system_identifier: 1,
            timeline: self.members[number].timeline(),
            layout: LAYOUT,
            writer: Writer {
                datacenter_id: 0,
                worker_id: number as u32,
                machine: number as u128 + 1,
            },
            failover_margin: self.rules.margin,
            max_observed_lead: self.rules.max_observed_lead,
            max_backward_step: LIMITS.max_backward_step,
            max_forward_step: None,
            start_after: None,
            is_restored: false,
        }
    }

    /// Forgets what is the same for all, so that a long life needs no more memory than a short one.
    fn forget(&mut self) {
        const KEPT: usize = 64;
        let shortest = self.members.iter().map(|member| member.wal.len()).min().unwrap_or(0);
        let alike =
            |at: usize| self.members.iter().all(|member| member.wal[at] == self.members[0].wal[at]);
        let common = (0..shortest).take_while(|at| alike(*at)).count();
        if common > KEPT {
            self.members.iter_mut().for_each(|member| drop(member.wal.drain(..common - 8)));
        }
    }
}

/// A client of this member.
struct Client<'a>(&'a mut Members, usize);

impl call::Session for Client<'_> {
    type Error = Decision;

    fn read(&mut self, seen: Option<Seen>) -> Result<Reading, Decision> {
        Ok(Reading { now: self.0.members[self.1].clock(self.0.at), seen })
    }

    fn take(&mut self, by: Reading, want: u32, limits: &Limits) -> Result<Decision, Decision> {
        let request = call::request(0, want, self.0.rules.last_sequence, || limits.max_burst);
        let generator = &mut self.0.members[self.1].memory.generator;
        Ok(generator.take(&mut Ring::<1>::new(), by, request, limits))
    }

    fn wait(&mut self, until: Timestamp, _: Span) -> Result<Duration, Decision> {
        self.0.at = until - self.0.members[self.1].ahead;
        Ok(Duration::ZERO)
    }

    fn reserve(&mut self, request: Request) -> Result<(), Decision> {
        self.0.achieve(self.1, request);
        Ok(())
    }
}

/// The events of a long life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lived {
    /// IDs that were issued.
    pub ids: u64,
    /// Promotions.
    pub promotions: u64,
    /// Members that were rewound, with IDs that were lost.
    pub lost: u64,
    /// Members that could not issue IDs, since a clock had to come first.
    pub waits: u64,
    /// IDs that came again, or were not above all others.
    pub again: u64,
}

/// So many events, as chance has them.
pub fn live(rules: Rules, seed: u64, events: u64) -> Lived {
    let (mut rng, mut lived) = (Rng::with_seed(seed), Lived::default());
    let mut members = Members::new(rules);
    for _ in 0..events {
        let (member, leader) = (rng.usize(0..MEMBERS), members.leader);
        let spread = 10_i64.pow(rng.u32(0..6));
        let happening = match rng.u8(0..100) {
            // Old primaries go on.
            0..40 => Happening::Take(if rng.u8(0..4) == 0 { member } else { leader }),
            40..60 => Happening::Pass(Span(rng.i64(0..spread))),
            60..70 => Happening::Send(member),
            70..75 => Happening::Promote(member),
            75..84 => Happening::Work(leader),
            84..92 => Happening::Rewind(member),
            92..94 => Happening::Restart(member),
            94..98 => Happening::Move(member, Span(rng.i64(-spread..=spread))),
            98 => Happening::Observe(member, Span(rng.i64(0..=2 * rules.max_observed_lead.0))),
            _ => Happening::SetFloor(member, Span(rng.i64(0..spread))),
        };
        if !members.is_possible(happening) {
            let waits =
                matches!(happening, Happening::Take(member) if members.members[member].leads);
            lived.waits += u64::from(waits);
            continue;
        }
        let lost = members.members[member].has_lost;
        members.happen(happening);
        lived.ids += u64::from(matches!(happening, Happening::Take(_)));
        lived.promotions += u64::from(matches!(happening, Happening::Promote(_)));
        lived.lost += u64::from(members.members[member].has_lost && !lost);
        lived.again += u64::from(members.again.take().is_some());
        // Clocks are set right again.
        if members.members[member].ahead.abs() > Span(1_000_000) {
            members.members[member].ahead = Span::ZERO;
        }
        members.forget();
    }
    lived
}
