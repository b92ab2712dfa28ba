//! The steps of a session: it makes the calls of the core, up to where others may come.

use std::time::Duration;

use snowflake_core::call;
use snowflake_core::generator::{Decision, Limits, Observation, Reading, Run, Seen, WaitReason};
use snowflake_core::layout::Parts;
use snowflake_core::promise::Request;
use snowflake_core::time::{Span, Timestamp};

use crate::bounds::{Bounds, Design, Rows, layouts};
use crate::relative::BOOT;
use crate::world::{Entry, Id, Session, World, idle};

impl World {
    /// Does this step of the session, and returns the next one; `None` when it has to wait for
    /// something else.
    pub fn step(&mut self, bounds: &Bounds, session: Session) -> Option<Session> {
        Some(match session {
            Session::Idle => return None,
            Session::Read { seen } => Session::Take(Reading { now: self.clock, seen }),
            Session::Take(_) if self.counts.issued >= bounds.ids => return None,
            Session::Take(_) | Session::Sleep(..) => return self.go_on_taking(bounds, session),
            Session::Look { timestamp } => Session::Observe { timestamp, now: self.clock },
            Session::Observe { timestamp, now } => self.observe(bounds, timestamp, now),
            Session::Want(_) if self.is_locked() => return None,
            Session::Want(request) => self.begin(bounds, request),
            Session::Do(turn, effect) => self.act(bounds, turn, effect),
        })
    }

    /// A transaction commits that took this ID, and wrote nothing.
    fn commit(&mut self, bounds: &Bounds, id: Id) {
        let waits = match bounds.design {
            Design::ForgetTheSynchronousStandby => false,
            Design::KeepAcknowledgements => {
                if Some(id.0) > self.acknowledged {
                    self.note_acknowledgement();
                }
                Some(id.0) > self.acknowledged
            }
            _ => self.required.is_some(),
        };
        if waits {
            self.wal.push(Entry::Commit(id));
            self.flushed = self.wal.len();
            self.waiting.push((self.wal.len(), id));
        } else {
            self.give(id);
        }
    }

    /// Time passes in which every ID is taken that there is.
    pub fn take_everything(&mut self, bounds: &Bounds, by: i64) {
        let end = self.clock + Span(by);
        let mut session = Session::Read { seen: None };
        self.sessions = idle();
        loop {
            self.counts.issued = 0;
            match self.step(bounds, session.clone()) {
                Some(next) => session = next,
                None if self.clock == end => break,
                None => {
                    self.clock += Span(1);
                    self.elapsed += 1;
                }
            }
        }
        // The WAL writer does not wait for a crash.
        self.flushed = self.wal.len();
        self.counts.issued = bounds.ids;
        self.counts.clock_moves += 1;
        self.busy += by;
        self.lag = self.lag.map(|lag| lag + by);
    }

    /// Goes on with a call for an ID, up to where others may come; `None` while it sleeps on.
    fn go_on_taking(&mut self, bounds: &Bounds, session: Session) -> Option<Session> {
        let (broken, is_asleep) = (self.broken, matches!(session, Session::Sleep(..)));
        let (reading, decided) = match session {
            Session::Take(reading) => (Some(reading), None),
            Session::Sleep(decision, since) => {
                (Some(Reading { now: self.clock, seen: None }), Some((decision, since)))
            }
            _ => return None,
        };
        let mut caller = Caller { world: self, bounds, reading, is_asleep, decided, request: None };
        let came = call::take(&mut caller, 1, &bounds.limits);
        let Caller { decided, request, .. } = caller;
        let next = match came {
            Ok(run) => self.give_out(bounds, run, decided?.0),
            Err(next) if *next == session && self.broken == broken => return None,
            Err(next) => *next,
        };
        Some(request.map_or(next, Session::Want))
    }

    /// Follows an ID of another server, which the transaction that brought it commits.
    fn observe(&mut self, bounds: &Bounds, timestamp: Timestamp, now: Timestamp) -> Session {
        let max_lead = Span(bounds.max_observed_lead);
        let ask = |world: &mut World| {
            if bounds.design == Design::JudgeBeforeTheLock {
                world.judged_by = Some(now);
            }
            if !world.promise.has_begun() {
                return None;
            }
            let (before, ring) = (world.generator.timestamp(), world.ring);
            let came = world.generator.observe(&mut world.ring, timestamp, now, max_lead);
            if bounds.design == Design::KeepTheRing {
                world.ring = ring;
            }
            if let Observation::Followed { .. } = came {
                if timestamp > before && timestamp - world.latest_reading > max_lead {
                    world.broken = Some("an ID was followed that was too far ahead of the clock");
                }
                let id = (timestamp, u32::MAX);
                world.seen = world.seen.max(Some(timestamp));
                world.highest = world.highest.max(Some(id));
                if bounds.rows == Rows::Each {
                    world.wal.push(Entry::Commit(id));
                }
            }
            Some(came)
        };
        // After a reservation, it reads the clock again.
        let came = call::observe(self, timestamp, max_lead, ask, |_, request| Err(request));
        came.map_or_else(Session::Want, |_| Session::Idle)
    }

    /// Follows an ID that is returned.
    fn give_out(&mut self, bounds: &Bounds, run: Run, decision: Decision) -> Session {
        let is_first_life = self.counts.crashes == bounds.crashes && self.seen.is_none();
        let (id, lead) = ((run.timestamp, run.first), run.timestamp - self.clock);
        if matches!(decision, Decision::Queue { .. })
            && is_first_life
            && !self.set_back
            && !lead.is_within(bounds.limits.max_burst)
        {
            self.broken = Some("an ID was returned ahead of the clock");
        }
        match bounds.rows {
            _ if matches!(decision, Decision::Reuse { .. }) => {}
            Rows::Each => self.wal.push(Entry::Commit(id)),
            Rows::None => self.commit(bounds, id),
            Rows::Lost => {}
        }
        Session::Read { seen: None }
    }

    /// An ID is taken that is greater than all before.
    fn claim(&mut self, bounds: &Bounds, id: Id) {
        let number = self.number(bounds, id);
        if self.highest.is_some_and(|highest| id <= highest)
            || number.is_some_and(|number| number <= self.highest_number)
        {
            self.broken = Some("an ID came again, or did not increase");
        }
        self.is_copy |= self.is_restored;
        self.highest = Some(id);
        self.highest_number = number.unwrap_or(self.highest_number);
        self.counts.issued += 1;
    }

    /// Keeps what was taken, and looks whether this may be decided where the generator has this
    /// lead over the reading.
    fn check(&mut self, bounds: &Bounds, decision: Decision, now: Timestamp, lead: Span) {
        if let Decision::Issue(run)
        | Decision::IssueAndReserve(run)
        | Decision::Queue { run, .. }
        | Decision::Reuse { run, .. } = decision
        {
            let id = (run.timestamp, run.first);
            if bounds.limits.reuse_window > Span::ZERO {
                if self.issued_with_reuse.contains(&id) {
                    self.broken = Some("an ID was issued twice");
                }
                self.issued_with_reuse.push(id);
            }
            match decision {
                Decision::Reuse { .. } => self.counts.issued += 1,
                _ => self.claim(bounds, id),
            }
        }
        let broken = match decision {
            Decision::Reuse { .. }
            | Decision::Hold { .. }
            | Decision::Wait { reason: WaitReason::ClockBehind, .. }
                if !self.set_back =>
            {
                "a clock that nobody set back was taken to have stepped"
            }
            Decision::Reuse { run, .. } if Some(run.timestamp) <= self.seen => {
                "an ID is not greater than one that was observed"
            }
            Decision::Queue { until, .. } if until - now > bounds.limits.max_queue => {
                match self.set_back {
                    true => "a step of the clock was taken for the queue",
                    false => "the queue has no bound",
                }
            }
            Decision::Wait { reason: WaitReason::NextMillisecond, .. }
                if bounds.limits.max_burst.is_none_or(|burst| lead < burst) =>
            {
                "a burst was not allowed as far as max_burst"
            }
            _ => return,
        };
        self.broken = Some(broken);
    }

    /// The ID as a number, where layouts change.
    fn number(&self, bounds: &Bounds, (timestamp, sequence): Id) -> Option<i64> {
        let parts = Parts { timestamp, datacenter_id: 0, worker_id: 0, sequence };
        let number = layouts()[self.layout].compose(parts).expect("an ID of the layout");
        (bounds.changes > 0).then_some(number)
    }
}

/// A session that goes on with a call. Where others may come, it stops, with what it does next.
struct Caller<'a> {
    world: &'a mut World,
    bounds: &'a Bounds,
    reading: Option<Reading>,
    is_asleep: bool,
    /// The decision, and its time by the boot clock.
    decided: Option<(Decision, i64)>,
    /// The next reservation. If the session has an ID, it returns that first.
    request: Option<Request>,
}

type Came<T> = Result<T, Box<Session>>;

impl From<Decision> for Box<Session> {
    fn from(_: Decision) -> Box<Session> {
        Box::new(Session::Read { seen: None })
    }
}

impl call::Session for Caller<'_> {
    type Error = Box<Session>;

    fn read(&mut self, seen: Option<Seen>) -> Came<Reading> {
        self.reading.take().ok_or_else(|| Box::new(Session::Read { seen }))
    }

    fn take(&mut self, mut by: Reading, _: u32, limits: &Limits) -> Came<Decision> {
        if let Some((decision, _)) = self.decided {
            return Ok(decision);
        }
        let (world, design, mut limits) = (&mut *self.world, self.bounds.design, *limits);
        if design == Design::HoldReplacesBurst && world.generator.hold() > Span::ZERO {
            limits.max_burst = Some(Span::ZERO);
        }
        let (now, lead) = (by.now, world.generator.timestamp() - by.now);
        match design {
            Design::QueueWithoutABound => limits.max_queue = Span::MAX,
            Design::TakeAStepForTheQueue => {
                let explained = limits.max_burst.unwrap_or(Span::MAX).max(world.generator.hold());
                let of_queue = world.generator.lead(now) < lead;
                let more = world.generator.lead(now) - explained;
                by.now += if of_queue { more.max(Span::ZERO) } else { Span::ZERO };
            }
            _ => {}
        }
        let request = call::request(0, 1, self.bounds.last_sequence, || limits.max_burst);
        let ring = world.ring;
        let mut decision = world.generator.take(&mut world.ring, by, request, &limits);
        if let (Design::JudgeStaleReadings, Decision::Reread { seen }) = (design, decision) {
            let by = Reading { seen: Some(seen), ..by };
            decision = world.generator.take(&mut world.ring, by, request, &limits);
        }
        let forgets = match decision {
            Decision::Reuse { .. } => Design::ReuseAgain,
            _ => Design::ForgetWhatWasUsed,
        };
        if design == forgets {
            world.ring = ring;
        }
        world.check(self.bounds, decision, now, lead);
        self.decided = Some((decision, BOOT + world.elapsed));
        Ok(decision)
    }

    /// A wait for the clock might be over at once. While every ID is taken that there is, it is
    /// not.
    fn wait(&mut self, until: Timestamp, longest: Span) -> Came<Duration> {
        let Some((decision, since)) = self.decided else { return Ok(Duration::ZERO) };
        let is_queue = matches!(decision, Decision::Queue { .. });
        let waited = Span(BOOT + self.world.elapsed - since);
        let is_over = match self.bounds.design {
            _ if !self.is_asleep => !is_queue && self.bounds.rushes.is_empty(),
            Design::ReturnEarly => true,
            Design::SleepByTheClock => self.world.clock >= until,
            _ => self.world.clock >= until || waited >= longest,
        };
        if !is_over && is_queue && waited > self.bounds.limits.max_queue {
            self.world.broken = Some("a session sleeps for longer than the queue is");
        }
        if is_over { Ok(Duration::ZERO) } else { Err(Box::new(Session::Sleep(decision, since))) }
    }

    fn reserve(&mut self, request: Request) -> Came<()> {
        self.request = Some(request);
        Ok(())
    }
}
