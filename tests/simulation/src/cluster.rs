//! A server with its standby: what the extension does around the rules.

use std::time::Duration;

use fastrand::Rng;
use snowflake_core::call;
use snowflake_core::defaults::{self, LOOK};
use snowflake_core::generator::{Decision, Generator, Limits, Observation, Reading, Run, Seen};
use snowflake_core::issuer::Issuer;
use snowflake_core::jump::Clocks;
use snowflake_core::layout::Layout;
use snowflake_core::promise::{self, Outcome, Promise, Request};
use snowflake_core::register::Writer;
use snowflake_core::ring::Ring;
use snowflake_core::time::{Span, Timestamp};

use crate::effects::{self, Answer, Effect};
use crate::machine::{MILLISECOND, Machine, SECOND};
use crate::options::Ignored;
use crate::wal::Wal;

/// The layout of all servers.
pub const LAYOUT: Layout = Layout::TWITTER;

const MARGIN: Span = defaults::FAILOVER_MARGIN;

/// The lag of a standby that one margin covers, in microseconds.
pub const COVERED_LAG: i64 = MARGIN.0 * MILLISECOND + SECOND;

/// The time that an operator waits for a clock before promoting.
const PATIENCE: Span = Span(10_000);

/// A reason for which a server issues no ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The clock has jumped ahead before the first reservation, or `snowflake.start_after` is too
    /// far ahead of it.
    Start,
    /// The clock has jumped ahead since, or was set back too far.
    Clock,
    /// The operator waits for the clock before letting it issue.
    Fenced,
}

/// The shared memory of a server, which it loses when it ends.
struct Memory {
    promise: Promise,
    generator: Generator,
    reserved: bool,
}

/// These servers run without reuse.
fn no_reuse() -> Ring<1> {
    Ring::new()
}

impl Memory {
    fn new(upstream: Option<Clocks>) -> Memory {
        let mut promise = Promise::default();
        if let Some(clocks) = upstream {
            promise.hear(clocks);
        }
        let generator = Generator::not_begun(LAYOUT.last_timestamp());
        Memory { promise, generator, reserved: false }
    }
}

/// A primary and its standby.
pub struct Cluster {
    /// The machine of the primary.
    pub machine: Machine,
    /// The machine of the standby.
    pub standby: Machine,
    /// A rule that is left out.
    pub ignored: Ignored,
    /// `snowflake.start_after`.
    start_after: Option<Timestamp>,
    system_identifier: u64,
    limits: Limits,
    jitter: u32,
    timeline: u32,
    newest_timeline: u32,
    wal: Wal,
    memory: Memory,
    /// IDs up to this timestamp were lost, and only a clock ahead of it keeps them from coming
    /// again.
    fence: Option<Timestamp>,
}

impl Cluster {
    /// A cluster that has no register yet. Its settings are the defaults, unless it is `unusual`.
    pub fn new(
        rng: &mut Rng,
        at: i64,
        machine: Machine,
        standby: Machine,
        unusual: bool,
    ) -> Cluster {
        let max_burst = if unusual && rng.u8(0..4) == 0 { Span(50) } else { Span::ZERO };
        Cluster {
            machine,
            standby,
            start_after: None,
            ignored: Ignored::Nothing,
            system_identifier: rng.u64(..),
            limits: Limits { max_burst: Some(max_burst), ..defaults::LIMITS },
            jitter: if unusual && rng.u8(0..4) == 0 { 1023 } else { 0 },
            timeline: 1,
            newest_timeline: 1,
            wal: Wal::beginning(at),
            memory: Memory::new(None),
            fence: None,
        }
    }

    /// Takes IDs, as one call of `snowflake_nextval()` does, and moves `at` to the moment when it
    /// has them. `old` is a clock reading of a session that was kept from taking them since.
    #[inline]
    pub fn take(
        &mut self,
        rng: &mut Rng,
        at: &mut i64,
        old: Option<Timestamp>,
        want: u32,
    ) -> Result<Run, Refusal> {
        if self.fence.is_some_and(|lost| self.machine.wall(*at) <= lost) {
            return Err(Refusal::Fenced);
        }
        let limits = self.limits;
        let run = call::take(&mut Client { cluster: self, rng, at, read: old }, want, &limits)?;
        self.fence = None;
        Ok(run)
    }

    /// Follows an ID of this timestamp, of another server, unless it is more than `max_lead` ahead
    /// of the clock, and moves `at` to the moment when that is done. Returns whether it is
    /// followed.
    pub fn observe(
        &mut self,
        rng: &mut Rng,
        at: &mut i64,
        timestamp: Timestamp,
        max_lead: Span,
    ) -> bool {
        let mut client = Client { cluster: self, rng, at, read: None };
        let ask = |Client { cluster, at, .. }: &mut Client| {
            let Memory { promise, generator, .. } = &mut cluster.memory;
            let now = cluster.machine.wall(**at);
            let observe = || generator.observe(&mut no_reuse(), timestamp, now, max_lead);
            promise.has_begun().then(observe)
        };
        let came = call::observe(&mut client, timestamp, max_lead, ask, call::Session::reserve);
        matches!(came.expect("a right clock"), Observation::Followed { .. })
    }

    /// Does what a session does with the lock held.
    fn achieve(&mut self, rng: &mut Rng, at: &mut i64, request: Request) -> Result<(), Refusal> {
        let issuer = self.issuer();
        let Cluster { machine, memory, wal, ignored, timeline, .. } = self;
        let Memory { promise, generator, reserved } = memory;
        let has_begun = promise.has_begun();
        let last = effects::drive(promise, &issuer, request, |effect| {
            Some(match effect {
                Effect::ReadClocks => Answer::Clocks(machine.clocks(*at)),
                Effect::Look => Answer::Looked(*generator),
                Effect::Read if *ignored == Ignored::Record => Answer::Read(Ok(None)),
                Effect::Read => Answer::Read(Ok(wal.last().record)),
                Effect::Create(record) => {
                    wal.log(*at, *timeline, record);
                    Answer::Done
                }
                Effect::Write(record) => {
                    // A start may write the record of the timeline before.
                    let durable_at = match request {
                        _ if !has_begun => *at,
                        Request::ReserveEarly => *at + rng.i64(0..LOOK.0 * MILLISECOND),
                        _ => i64::MAX,
                    };
                    Answer::Position(wal.log(durable_at, *timeline, record))
                }
                Effect::Flush(_) => {
                    wal.flush(rng, at);
                    Answer::Done
                }
                Effect::AskFlushed => Answer::Position(wal.flushed(*at)),
                Effect::FlushSoon(_) | Effect::SyncEntry => Answer::Done,
                Effect::Raise { floor, reserve_after } => {
                    generator.raise_floor(floor, reserve_after);
                    Answer::Done
                }
                Effect::Restart(started) => {
                    *generator = started;
                    Answer::Done
                }
                effect => unreachable!("nobody administers: {effect:?}"),
            })
        });
        match last {
            Effect::Finish(outcome, _) => {
                *reserved |= matches!(outcome, Outcome::Reserved { .. });
                Ok(())
            }
            Effect::Refuse(promise::Refusal::ClockAhead(_)) if *reserved => Err(Refusal::Clock),
            Effect::Refuse(
                promise::Refusal::ClockAhead(_) | promise::Refusal::StartAfterAhead { .. },
            ) => Err(Refusal::Start),
            effect => unreachable!("nothing fails, and the record is its own: {effect:?}"),
        }
    }

    fn issuer(&self) -> Issuer {
        Issuer {
            system_identifier: self.system_identifier,
            timeline: self.timeline,
            layout: LAYOUT,
            writer: Writer { datacenter_id: 0, worker_id: 0, machine: self.machine.number },
            failover_margin: MARGIN,
            max_observed_lead: Span::ZERO,
            max_backward_step: self.limits.max_backward_step,
            max_forward_step: Some(defaults::MAX_FORWARD_STEP),
            start_after: self.start_after.filter(|_| self.ignored != Ignored::Record),
            is_restored: false,
        }
    }

    /// The server is killed, with or without the part of the WAL that nobody had flushed, or is
    /// shut down, which flushes it.
    pub fn crash(&mut self, at: i64, keeps_unflushed: bool) {
        self.wal.crash(at, keeps_unflushed);
        self.memory = Memory::new(None);
    }

    /// The result of `snowflake_floor()`, for another server to start after. `None` where that does
    /// not cover all IDs of the identity: before the first ID after a promotion, only a clock that
    /// is ahead may keep lost IDs from coming again.
    pub fn floor(&self) -> Option<Timestamp> {
        let floor = self.issuer().floor(self.wal.last().record.as_ref());
        floor.filter(|_| self.fence.is_none())
    }

    /// Gives the server, which is down, another identity, and the floor that comes with it.
    pub fn take_identity(&mut self, floor: Timestamp) {
        self.start_after = Some(floor).filter(|_| self.ignored != Ignored::Floor);
        self.fence = None;
    }

    /// The primary dies, and its standby is promoted. It has received what was durable `lag`
    /// microseconds ago. `highest` is the last timestamp that was issued under this identity.
    /// Returns whether WAL was lost.
    pub fn fail_over(
        &mut self,
        rng: &mut Rng,
        at: i64,
        lag: i64,
        highest: Option<Timestamp>,
    ) -> bool {
        self.crash(at, false);
        let upstream = (rng.u8(0..4) != 0).then(|| self.upstream(rng, at - lag, at));
        let received = self.wal.durable_at(at - lag);
        std::mem::swap(&mut self.machine, &mut self.standby);
        let received = self.within_the_formula(at, received, highest, None);
        let is_lossy = received < self.wal.entries.len();
        self.wal.entries.truncate(received);
        self.begin_timeline(at, self.wal.last().timeline + 1);
        self.memory = Memory::new(upstream);
        is_lossy
    }

    /// The server is lost, and its backup is restored to an earlier point. The archive of its WAL
    /// knows all timelines.
    pub fn restore(&mut self, rng: &mut Rng, at: i64, highest: Option<Timestamp>) {
        self.crash(at, false);
        let received = rng.usize(1..=self.wal.entries.len());
        let timeline = self.newest_timeline + 1;
        let received = self.within_the_formula(at, received, highest, Some(timeline));
        self.wal.entries.truncate(received);
        self.begin_timeline(at, timeline);
    }

    fn begin_timeline(&mut self, at: i64, timeline: u32) {
        self.timeline = timeline;
        self.newest_timeline = self.newest_timeline.max(timeline);
        self.wal.begin_timeline(at, timeline);
    }

    /// The part of the WAL that may be left, so that nothing returns by the formula that
    /// `docs/operations.md` gives for a failover. This is what is promised, written down a second
    /// time on purpose: nothing here may be taken from the rules that it is compared with.
    fn within_the_formula(
        &mut self,
        at: i64,
        received: usize,
        highest: Option<Timestamp>,
        timeline: Option<u32>,
    ) -> usize {
        let Some(highest) = highest else { return received };
        if received == self.wal.entries.len()
            || (self.ignored == Ignored::Formula && timeline.is_none())
        {
            return received;
        }
        let entry = &self.wal.entries[received - 1];
        let timeline = timeline.unwrap_or(entry.timeline + 1);
        let by_record = entry.record.is_some_and(|record| {
            highest <= record.floor + MARGIN * i64::from(timeline - record.timeline)
        });
        let by_setting = self.start_after.is_some_and(|start_after| highest <= start_after);
        if by_record || by_setting {
            self.fence = None;
        } else if highest <= self.machine.wall(at) + PATIENCE {
            // The clock has to be ahead when the first ID is issued.
            self.fence = Some(highest);
        } else {
            return self.wal.entries.len();
        }
        received
    }

    /// The clock of the primary as its standby knows it, after a message that was sent at
    /// `sent_at`.
    fn upstream(&self, rng: &mut Rng, sent_at: i64, at: i64) -> Clocks {
        let received_at = (sent_at + rng.i64(0..5 * MILLISECOND)).min(at);
        let looked_at = (received_at + rng.i64(0..LOOK.0 * MILLISECOND)).min(at);
        let [sent, received] = [self.machine.wall(sent_at), self.standby.wall(received_at)];
        Clocks::of_upstream(sent, received, self.standby.clocks(looked_at), Some(LOOK))
    }
}

/// A session of the server that takes IDs.
struct Client<'a> {
    cluster: &'a mut Cluster,
    rng: &'a mut Rng,
    /// True time, which goes on while it waits.
    at: &'a mut i64,
    /// A reading from before.
    read: Option<Timestamp>,
}

impl call::Session for Client<'_> {
    type Error = Refusal;

    fn read(&mut self, seen: Option<Seen>) -> Result<Reading, Refusal> {
        let now = self.read.take().unwrap_or_else(|| self.cluster.machine.wall(*self.at));
        Ok(Reading { now, seen })
    }

    fn take(&mut self, by: Reading, want: u32, limits: &Limits) -> Result<Decision, Refusal> {
        let Cluster { memory: Memory { generator, .. }, jitter, .. } = &mut *self.cluster;
        let first = if *jitter == 0 { 0 } else { self.rng.u32(0..=*jitter) };
        let max_burst = || limits.max_burst;
        let request = call::request(first, want, LAYOUT.last_sequence(), max_burst);
        let at_once = generator.take_at_once(&mut no_reuse(), by.now, request, max_burst);
        let take = || generator.take(&mut no_reuse(), by, request, limits);
        Ok(at_once.map_or_else(take, Decision::Issue))
    }

    fn wait(&mut self, until: Timestamp, longest: Span) -> Result<Duration, Refusal> {
        let began = *self.at;
        *self.at = self.cluster.machine.when(until, began).min(began + longest.0 * MILLISECOND);
        Ok(Duration::from_micros((*self.at - began) as u64))
    }

    fn reserve(&mut self, request: Request) -> Result<(), Refusal> {
        self.cluster.achieve(self.rng, self.at, request)
    }
}

impl From<Decision> for Refusal {
    fn from(decision: Decision) -> Refusal {
        assert!(matches!(decision, Decision::Refuse { .. }), "the field does not end so soon");
        Refusal::Clock
    }
}
