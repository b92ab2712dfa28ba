//! A model checker over the core's own functions: every interleaving of two backends, standbys,
//! synchronous or not, reservations, clock steps, checkpoints, crashes, restarts and promotions,
//! within small bounds.
//!
//! [`Design`] switches to designs that are wrong, each in one way. The checker has to find what
//! each of them breaks.

use snowflake_core::generator::{
    Claim, Decision, Generator, Limits, RESERVATION, Reading, Seen, WaitReason,
};
use snowflake_core::jump::{BootClock, Clocks, Reference, Verdict};
use snowflake_core::layout::Layout;
use snowflake_core::register::{Record, Server, Start, Writer};
use snowflake_core::ring::Ring;
use stateright::{Checker, HasDiscoveries, Model, Property};

const START: i64 = 1_800_000_000_000;
const BACKENDS: usize = 2;
const PROMISES: &str = "IDs increase, and every wait has a reason";

/// The design, and the ways in which it could be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Design {
    Sound,
    /// The generator may use a reservation that is not durable yet.
    PublishBeforeFlush,
    /// A start begins at the recorded time, not above it.
    StartAtTheRecord,
    /// The register does not reach the standby.
    StandbyWithoutRegister,
    /// A record does not look at what is reserved already.
    TakeBackWhatIsReserved,
    /// Overflow and steps are decided on whatever reading there is.
    JudgeStaleReadings,
    /// While a step is held, max_burst does not count.
    HoldReplacesBurst,
    /// A start does not look at the clocks of the record.
    ForgetTheClocks,
    /// A confirmation of the clock is not written to the register.
    ConfirmInMemory,
    /// What an old reading asked for is reserved, wherever the clock is now.
    ReserveForOldReadings,
    /// A promotion adds one margin, however many timelines have begun since the record.
    OneMargin,
    /// What is durable on the primary counts as acknowledged.
    ForgetTheSynchronousStandby,
    /// A promotion compares its clock with the record's alone.
    ForgetTheUpstream,
    /// A millisecond is not recorded when the generator moves on.
    ForgetWhatWasUsed,
    /// It is assumed that nothing was used before reuse was switched on, or before the start.
    NothingWasUsedBefore,
    /// What is reused is not recorded.
    ReuseAgain,
}

/// What may happen, and how often.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    design: Design,
    limits: Limits,
    last_sequence: u32,
    ids: usize,
    reservations: u8,
    clock_moves: u8,
    /// By how much a move changes the clock.
    moves: &'static [i64],
    crashes: u8,
    checkpoints: u8,
    standbys: usize,
    /// Whether commits wait for the standby, and IDs are taken without rows.
    synchronous: bool,
    /// How far the clocks of standbys are ahead of the primary's.
    offsets: &'static [i64],
    margin: i64,
    /// The largest jump ahead that is followed; `None` is no limit.
    max_forward_step: Option<i64>,
    /// How much time may pass at once, on all clocks.
    passes: &'static [i64],
    /// How often a session with an old setting may switch reuse on or off.
    switches: u8,
}

type Id = (i64, u32);

/// A record of the WAL.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Entry {
    Reservation(Record),
    /// Of a transaction that has an ID, or that only returned it and waits.
    Row(Id),
    /// A promotion.
    Timeline(u32),
}

/// What a backend does next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Backend {
    /// Read the clock, having seen this timestamp.
    Read {
        seen: Seen,
    },
    Claim(Reading),
    /// Take the lock, write the record that makes this timestamp available.
    Reserve {
        timestamp: i64,
    },
    Flush {
        floor: i64,
    },
    Publish {
        floor: i64,
    },
    /// Reserve without a wait, or publish what an early reservation has written.
    ReserveEarly,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    clock: i64,
    /// The time that has truly passed, which the boot clock shows.
    elapsed: i64,
    /// Shared memory: the clocks that the next reading is compared with.
    reference: Option<Reference>,
    /// Shared memory: the upstream's clock, while this server was a standby.
    upstream: Option<Clocks>,
    /// The furthest that the clock was ahead of true time where IDs were allowed to follow it.
    accepted: i64,
    /// How far it was ahead when somebody confirmed it last.
    confirmed: Option<i64>,
    clock_moves: u8,
    set_back: bool,
    up: bool,
    timeline: u32,
    /// Shared memory: gone after a crash.
    begun: bool,
    generator: Generator,
    ring: Ring<2>,
    /// All IDs that were issued, if reuse is on.
    issued_with_reuse: Vec<Id>,
    switches: u8,
    /// What an early reservation has written, and how much WAL has to be flushed before it counts.
    pending: Option<(i64, usize)>,
    backends: [Backend; BACKENDS],
    /// The page in the buffer pool, and on disk.
    buffer: Option<Record>,
    disk: Option<Record>,
    /// Recovery begins at this entry of the WAL.
    redo: usize,
    wal: Vec<Entry>,
    flushed: usize,
    /// How much of the WAL each standby has, until it is promoted.
    standbys: [Option<usize>; 2],
    /// How much of it the generator's floor needs to be acknowledged.
    acknowledged_at: usize,
    /// Where this primary began, in its first life.
    base_of_primary: Option<i64>,
    /// The highest ID that a client was given, where commits wait for the standby.
    returned: Option<Id>,
    /// Commits that wait until the standby has so much of the WAL.
    waiting: Vec<(usize, Id)>,
    /// The highest ID that must never come again: of all that were issued, or after a promotion, of
    /// all rows.
    highest: Option<Id>,
    issued: usize,
    reservations: u8,
    crashes: u8,
    checkpoints: u8,
    broken: Option<&'static str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Action {
    SetReuse(bool),
    MoveClock(i64),
    Pass(i64),
    ConfirmClock,
    Backend(usize),
    FlushWal,
    Checkpoint,
    /// With or without the part of the WAL that nobody had flushed.
    Crash {
        keeps_unflushed: bool,
    },
    Restart,
    Stream(usize),
    Promote {
        standby: usize,
        offset: i64,
    },
}

impl World {
    fn server(&self, bounds: &Bounds) -> Server {
        Server {
            system_identifier: 1,
            timeline: self.timeline,
            layout: Layout::TWITTER,
            writer: Writer { datacenter_id: 0, worker_id: 0, machine: 0 },
            failover_margin: bounds.margin,
            max_backward_step: i64::MAX,
            start_after: None,
        }
    }

    /// A backend's next step. `None` when it has to wait for something else.
    fn step(&mut self, bounds: &Bounds, backend: usize) -> Option<()> {
        match self.backends[backend].clone() {
            Backend::Read { seen } => {
                self.backends[backend] = Backend::Claim(Reading { now: self.clock, seen });
            }
            Backend::Claim(reading) => {
                if self.issued >= bounds.ids {
                    return None;
                }
                self.backends[backend] = self.claim(bounds, reading);
            }
            Backend::Reserve { timestamp } => {
                if self.is_locked() {
                    return None;
                }
                self.backends[backend] = if !self.begun {
                    self.begin(bounds);
                    Backend::Read { seen: Seen::NOTHING }
                } else if timestamp <= self.generator.floor()
                    || bounds.design != Design::ReserveForOldReadings
                        && !self.generator.may_need(timestamp, self.clock)
                {
                    Backend::Read { seen: Seen::NOTHING }
                } else if let Some((floor, _)) = self.pending.take() {
                    Backend::Flush { floor }
                } else {
                    let floor = self.write(bounds, timestamp)?;
                    if bounds.design == Design::PublishBeforeFlush {
                        self.generator.raise_floor(floor, true);
                    }
                    Backend::Flush { floor }
                };
            }
            Backend::ReserveEarly => {
                if self.is_locked() {
                    return None;
                }
                match self.pending {
                    Some((floor, lsn)) if lsn <= self.flushed.min(self.acknowledged(bounds)) => {
                        self.raise_floor(bounds, floor, lsn);
                        self.pending = None;
                    }
                    Some(_) => {}
                    None => {
                        let floor = self.write(bounds, self.generator.timestamp())?;
                        self.pending = Some((floor, self.wal.len()));
                    }
                }
                self.backends[backend] = Backend::Read { seen: Seen::NOTHING };
            }
            Backend::Flush { floor } => {
                self.flushed = self.wal.len();
                self.backends[backend] = Backend::Publish { floor };
            }
            Backend::Publish { floor } => {
                let lsn = self.wal.iter().rposition(
                    |entry| matches!(entry, Entry::Reservation(record) if record.floor == floor),
                );
                self.raise_floor(bounds, floor, lsn.expect("it was written") + 1);
                self.backends[backend] = Backend::Read { seen: Seen::NOTHING };
            }
        }
        Some(())
    }

    /// Up to where the synchronous standby has the WAL.
    fn acknowledged(&self, bounds: &Bounds) -> usize {
        match self.standbys[0] {
            Some(received)
                if bounds.synchronous && bounds.design != Design::ForgetTheSynchronousStandby =>
            {
                received
            }
            _ => usize::MAX,
        }
    }

    fn raise_floor(&mut self, bounds: &Bounds, floor: i64, lsn: usize) {
        self.acknowledged_at = lsn;
        self.generator.raise_floor(floor, lsn <= self.acknowledged(bounds));
        self.set_reuse(bounds, bounds.limits.reuse_window > 0);
    }

    fn set_reuse(&mut self, bounds: &Bounds, on: bool) {
        if bounds.design == Design::NothingWasUsedBefore {
            let mut as_it_was = self.ring;
            self.generator.set_reuse(&mut as_it_was, on);
            self.ring.begin(0);
        } else {
            self.generator.set_reuse(&mut self.ring, on);
        }
    }

    /// A client is given its ID.
    fn give(&mut self, id: Id) {
        self.returned = self.returned.max(Some(id));
    }

    /// Whether a backend is between writing and publishing, with the lock held.
    fn is_locked(&self) -> bool {
        self.backends
            .iter()
            .any(|backend| matches!(backend, Backend::Flush { .. } | Backend::Publish { .. }))
    }

    /// Writes the record that makes `timestamp` available; `None` where the bounds allow no more.
    fn write(&mut self, bounds: &Bounds, timestamp: i64) -> Option<i64> {
        if self.reservations >= bounds.reservations {
            return None;
        }
        let now = self.clocks();
        if self.verdict(bounds) == Verdict::Refuse {
            if self.confirmed == Some(self.ahead()) {
                self.broken = Some("a clock that was confirmed is refused");
                return Some(self.generator.floor());
            }
            return None;
        }
        let boot = |clocks: Clocks| clocks.boot.map(|clock| clock.boot);
        if let Some(Reference { record, upstream: None }) = self.reference
            && boot(record) != boot(now)
            && bounds.design != Design::ForgetTheUpstream
        {
            // Nobody knows how long ago the record was written.
            self.accepted = self.accepted.max(self.ahead());
        }
        // Timestamps are ahead of the clock by a reservation, and a little more after a crash.
        let explained = self.accepted + 2 * RESERVATION;
        if bounds.max_forward_step.is_some_and(|limit| self.ahead() > explained + limit) {
            self.broken = Some("a record follows a clock that jumped, unconfirmed");
        }
        self.accepted = self.accepted.max(self.ahead());
        self.reference = Some(Reference::record(now));
        self.reservations += 1;
        let before = match bounds.design {
            Design::TakeBackWhatIsReserved => i64::MIN,
            _ => self.generator.floor(),
        };
        let record = self.server(bounds).reservation(timestamp, before, now);
        if self.buffer.is_some_and(|before| before.floor > record.floor) {
            self.broken = Some("a record took back what an earlier one had promised (I2)");
        }
        let furthest = START + self.elapsed + explained + RESERVATION;
        let follows = bounds.max_forward_step.is_some_and(|limit| record.floor > furthest + limit);
        if follows && self.broken.is_none() {
            self.broken = Some("a record follows a reading that is out of date");
        }
        self.wal.push(Entry::Reservation(record));
        self.buffer = Some(record);
        Some(record.floor)
    }

    fn claim(&mut self, bounds: &Bounds, reading: Reading) -> Backend {
        let mut limits = bounds.limits;
        if bounds.design == Design::HoldReplacesBurst && self.generator.hold() > 0 {
            limits.max_burst = 0;
        }
        let lead = self.generator.timestamp() - reading.now;
        let claim = Claim { first: 0, want: 1, last_sequence: bounds.last_sequence, leave: 0 };
        let ring = self.ring;
        let mut decision = self.generator.claim(&mut self.ring, reading, claim, &limits);
        if let (Design::JudgeStaleReadings, Decision::Reread { seen }) = (bounds.design, decision) {
            let reading = Reading { seen, ..reading };
            decision = self.generator.claim(&mut self.ring, reading, claim, &limits);
        }
        let forgets = match decision {
            Decision::Reuse { .. } => Design::ReuseAgain,
            _ => Design::ForgetWhatWasUsed,
        };
        if bounds.design == forgets {
            self.ring = ring;
        }
        if limits.reuse_window > 0
            && let Decision::Issue(run)
            | Decision::IssueAnd { run, .. }
            | Decision::Reuse { run, .. } = decision
        {
            let id = (run.timestamp, run.first);
            if self.issued_with_reuse.contains(&id) {
                self.broken = Some("an ID was issued twice");
            }
            self.issued_with_reuse.push(id);
        }
        match decision {
            Decision::Reuse { .. } => {
                if !self.set_back {
                    self.broken = Some("a clock that nobody set back was taken to have stepped");
                }
                self.issued += 1;
                Backend::Read { seen: Seen::NOTHING }
            }
            Decision::Issue(run) | Decision::IssueAnd { run, .. } => {
                let id = (run.timestamp, run.first);
                if self.highest.is_some_and(|highest| id <= highest) {
                    self.broken = Some("an ID came again, or did not increase");
                }
                self.highest = Some(id);
                self.issued += 1;
                if !bounds.synchronous {
                    self.wal.push(Entry::Row(id));
                } else if !matches!(decision, Decision::IssueAnd { unacknowledged: true, .. }) {
                    self.give(id);
                } else if self.acknowledged_at <= self.acknowledged(bounds) {
                    self.generator.acknowledge();
                    self.give(id);
                } else {
                    self.wal.push(Entry::Row(id));
                    self.waiting.push((self.wal.len(), id));
                }
                match decision {
                    Decision::IssueAnd { reserve: true, .. } => Backend::ReserveEarly,
                    _ => Backend::Read { seen: Seen::NOTHING },
                }
            }
            Decision::Reread { seen } => Backend::Read { seen },
            Decision::Reserve { timestamp } => Backend::Reserve { timestamp },
            Decision::Hold { seen, .. }
            | Decision::Wait { seen, reason: WaitReason::ClockBehind, .. } => {
                if !self.set_back {
                    self.broken = Some("a clock that nobody set back was taken to have stepped");
                }
                Backend::Read { seen }
            }
            Decision::Wait { seen, reason: WaitReason::NextMillisecond, .. } => {
                if lead < bounds.limits.max_burst {
                    self.broken = Some("a burst was not allowed as far as max_burst");
                }
                Backend::Read { seen }
            }
            Decision::Refuse { .. } | Decision::EndOfField => Backend::Read { seen: Seen::NOTHING },
        }
    }

    fn begin(&mut self, bounds: &Bounds) {
        let server = self.server(bounds);
        let mut start = match self.buffer {
            Some(record) => {
                let upstream = match bounds.design {
                    Design::ForgetTheUpstream => None,
                    _ => self.upstream,
                };
                let reference = server.reference(&record, upstream);
                let limit = bounds.max_forward_step;
                let kept = server.record_of_refusal(&record, &reference, &self.clocks(), limit);
                if let Some(record) = kept {
                    self.log_durably(record);
                }
                if bounds.design != Design::ForgetTheClocks {
                    self.reference = Some(reference);
                }
                server.start(&record, self.clock).expect("its own record")
            }
            None => {
                // Created durably, all at once.
                let record = server.record(self.clock - 1, self.clocks());
                self.accepted = self.accepted.max(self.ahead());
                self.reference = Some(Reference::record(record.written));
                self.log_durably(record);
                self.disk = Some(record);
                Start { after: record.floor, hold: 0, margin: 0 }
            }
        };
        if bounds.design == Design::OneMargin {
            start.after -= (start.margin - bounds.margin).max(0);
        }
        if bounds.design == Design::StartAtTheRecord {
            start.after -= 1;
        }
        self.generator =
            Generator::starting_after(start.after, start.hold, server.layout.last_timestamp());
        self.begun = true;
        self.base_of_primary.get_or_insert(start.after);
    }

    /// The timeline that whoever has so much of the WAL knows of.
    fn known_timeline(&self, received: usize) -> u32 {
        let timelines = self.wal[..received].iter().rev().find_map(|entry| match entry {
            Entry::Timeline(timeline) => Some(*timeline),
            _ => None,
        });
        timelines.unwrap_or(1)
    }

    fn log_durably(&mut self, record: Record) {
        self.wal.push(Entry::Reservation(record));
        self.flushed = self.wal.len();
        self.buffer = Some(record);
    }

    /// How far the clock is ahead of true time.
    fn ahead(&self) -> i64 {
        self.clock - START - self.elapsed
    }

    fn clocks(&self) -> Clocks {
        // Each promotion is on another machine.
        let boot = self.timeline.into();
        Clocks { wall: self.clock, boot: Some(BootClock { boot, elapsed: self.elapsed }) }
    }

    /// What a reservation makes of the clock.
    fn verdict(&self, bounds: &Bounds) -> Verdict {
        self.reference.map_or(Verdict::Accept, |reference| {
            let timestamp = self.generator.timestamp();
            self.clocks().judge(&reference, timestamp, bounds.max_forward_step).0
        })
    }

    fn lose_memory(&mut self) {
        self.begun = false;
        self.reference = None;
        self.upstream = None;
        // What a client was not told of is nobody's.
        self.waiting.clear();
        self.pending = None;
        self.generator = unstarted();
        self.ring = Ring::new();
        self.backends = idle();
        self.buffer = None;
    }

    fn recover(&mut self) {
        self.buffer = self.disk;
        for entry in &self.wal[self.redo..] {
            if let Entry::Reservation(record) = entry {
                self.buffer = Some(*record);
            }
        }
        self.flushed = self.wal.len();
    }
}

fn unstarted() -> Generator {
    Generator::starting_after(0, 0, Layout::TWITTER.last_timestamp())
}

fn idle() -> [Backend; BACKENDS] {
    [const { Backend::Read { seen: Seen::NOTHING } }; BACKENDS]
}

impl Model for Bounds {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World {
            clock: START,
            elapsed: 0,
            reference: None,
            upstream: None,
            accepted: 0,
            confirmed: None,
            clock_moves: 0,
            set_back: false,
            up: true,
            timeline: 1,
            begun: false,
            generator: unstarted(),
            ring: Ring::new(),
            issued_with_reuse: Vec::new(),
            switches: 0,
            pending: None,
            backends: idle(),
            buffer: None,
            disk: None,
            redo: 0,
            wal: Vec::new(),
            flushed: 0,
            standbys: [0, 1].map(|standby| (standby < self.standbys).then_some(0)),
            acknowledged_at: 0,
            base_of_primary: None,
            returned: None,
            waiting: Vec::new(),
            highest: None,
            issued: 0,
            reservations: 0,
            crashes: 0,
            checkpoints: 0,
            broken: None,
        }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        if world.broken.is_some() {
            return;
        }
        if world.clock_moves < self.clock_moves {
            actions.extend(self.moves.iter().map(|by| Action::MoveClock(*by)));
            actions.extend(self.passes.iter().map(|by| Action::Pass(*by)));
        }
        if world.up {
            if world.switches < self.switches {
                actions.extend([true, false].map(Action::SetReuse));
            }
            if world.begun && !world.is_locked() && world.verdict(self) == Verdict::Refuse {
                actions.push(Action::ConfirmClock);
            }
            actions.extend((0..BACKENDS).map(Action::Backend));
            if world.flushed < world.wal.len() {
                actions.push(Action::FlushWal);
            }
            if world.checkpoints < self.checkpoints {
                actions.push(Action::Checkpoint);
            }
            if world.crashes < self.crashes {
                actions.push(Action::Crash { keeps_unflushed: false });
                actions.push(Action::Crash { keeps_unflushed: true });
            }
        } else {
            actions.push(Action::Restart);
        }
        for standby in 0..2 {
            let Some(received) = world.standbys[standby] else { continue };
            if !world.up {
                actions.extend(
                    self.offsets.iter().map(|offset| Action::Promote { standby, offset: *offset }),
                );
            }
            if received < world.flushed {
                actions.push(Action::Stream(standby));
            }
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        match action {
            Action::SetReuse(on) => {
                next.set_reuse(self, on);
                next.switches += 1;
            }
            Action::MoveClock(by) => {
                next.clock += by;
                next.clock_moves += 1;
                next.set_back |= by < 0;
            }
            Action::Pass(by) => {
                next.clock += by;
                next.elapsed += by;
                next.clock_moves += 1;
            }
            Action::ConfirmClock => {
                // As it stands, with other clocks, and durable before anybody is told.
                next.reference = Some(Reference::record(next.clocks()));
                next.upstream = None;
                next.confirmed = Some(next.ahead());
                next.accepted = next.accepted.max(next.ahead());
                if self.design != Design::ConfirmInMemory {
                    let record = Record { written: next.clocks(), ..next.buffer? };
                    next.log_durably(record);
                }
            }
            Action::Backend(backend) => next.step(self, backend)?,
            Action::FlushWal => next.flushed = next.wal.len(),
            Action::Checkpoint => {
                // The page goes to disk after the WAL that changed it.
                next.flushed = next.wal.len();
                next.disk = next.buffer;
                next.redo = next.wal.len();
                next.checkpoints += 1;
            }
            Action::Crash { keeps_unflushed } => {
                if !keeps_unflushed {
                    next.wal.truncate(next.flushed);
                }
                next.up = false;
                next.crashes += 1;
                next.lose_memory();
            }
            Action::Restart => {
                next.recover();
                next.up = true;
            }
            Action::Stream(standby) => {
                next.standbys[standby] = Some(next.flushed);
                if standby == 0 {
                    for (lsn, id) in std::mem::take(&mut next.waiting) {
                        if lsn <= next.flushed {
                            next.give(id);
                        } else {
                            next.waiting.push((lsn, id));
                        }
                    }
                }
            }
            Action::Promote { standby, offset } => {
                // What the standby has not received is gone; it replays all that it has.
                let received = next.standbys[standby].take()?;
                let knows_primary = next.known_timeline(received) == next.timeline;
                let base = next.base_of_primary.take().filter(|_| knows_primary);
                next.wal.truncate(received);
                // A standby that is ahead of this one cannot follow it.
                next.standbys = next
                    .standbys
                    .map(|other| other.filter(|other_received| *other_received <= received));
                next.redo = 0;
                next.disk = None;
                next.recover();
                if self.design == Design::StandbyWithoutRegister {
                    next.buffer = None;
                }
                next.timeline = next.known_timeline(received) + 1;
                next.wal.push(Entry::Timeline(next.timeline));
                next.flushed = next.wal.len();
                // The upstream's clock, as the standby last heard of it, by its own boot clock.
                next.upstream = self.max_forward_step.map(|_| next.clocks());
                if next.upstream.is_some() {
                    next.accepted = next.accepted.max(next.ahead());
                }
                next.clock += offset;
                next.up = true;
                let row = next.wal.iter().rev().find_map(|entry| match entry {
                    Entry::Row(id) => Some(*id),
                    Entry::Reservation(_) | Entry::Timeline(_) => None,
                });
                // What is promised of IDs that were lost.
                let floor = next
                    .buffer
                    .map_or(i64::MIN, |record| record.floor.max(base.unwrap_or(i64::MIN)));
                next.highest = match next.highest {
                    _ if self.synchronous => row.max(next.returned),
                    Some(lost) if lost.0 <= floor.saturating_add(self.margin) => Some(lost),
                    _ => row,
                };
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(PROMISES, |_, world: &World| world.broken.is_none()),
            Property::always("what is published is durable (I1)", |_, world: &World| {
                let durable =
                    world.wal[..world.flushed].iter().rev().find_map(|entry| match entry {
                        Entry::Reservation(record) => Some(record.floor),
                        Entry::Row(_) | Entry::Timeline(_) => None,
                    });
                !world.begun
                    || durable.max(world.disk.map(|record| record.floor)) >= Some(world.generator.floor())
                    // A promoted server begins a margin above what it has.
                    || world.generator.timestamp() == world.generator.floor()
            }),
            Property::sometimes(
                "a server issues IDs after a crash",
                |bounds: &Bounds, world: &World| {
                    bounds.crashes == 0 || (world.crashes > 0 && world.begun && world.issued > 1)
                },
            ),
            Property::sometimes(
                "an ID is smaller than an earlier one",
                |bounds: &Bounds, world: &World| {
                    bounds.limits.reuse_window == 0 || !world.issued_with_reuse.is_sorted()
                },
            ),
            Property::sometimes(
                "IDs follow a clock that was confirmed",
                |bounds: &Bounds, world: &World| {
                    let followed = world
                        .generator
                        .last()
                        .is_some_and(|(timestamp, _)| timestamp == world.clock);
                    bounds.max_forward_step.is_none()
                        || (world.confirmed == Some(world.ahead()) && followed)
                },
            ),
            Property::sometimes(
                "a promoted server issues IDs",
                |bounds: &Bounds, world: &World| {
                    bounds.standbys == 0 || (world.timeline > 1 && world.begun && world.issued > 1)
                },
            ),
        ]
    }
}

/// Every step back is held. No ID ahead of the clock, nothing reused.
const HOLDING: Limits =
    Limits { max_burst: 0, reuse_window: 0, max_backward_step: i64::MAX, max_wait: 0 };

/// Everything at once, and little of each.
fn everything(design: Design) -> Bounds {
    Bounds {
        design,
        limits: HOLDING,
        last_sequence: 1,
        ids: 3,
        reservations: 3,
        clock_moves: 2,
        moves: &[3 * RESERVATION / 4, -2 * RESERVATION],
        crashes: 1,
        checkpoints: 1,
        standbys: 1,
        synchronous: false,
        offsets: &[0],
        margin: 2,
        max_forward_step: None,
        passes: &[],
        switches: 0,
    }
}

/// More IDs and more of the clock, on one server that does not crash.
fn clock_only(design: Design) -> Bounds {
    Bounds {
        design,
        limits: Limits { max_burst: 2, ..HOLDING },
        last_sequence: 0,
        ids: 5,
        reservations: 3,
        clock_moves: 3,
        moves: &[1, 2, -3],
        crashes: 0,
        checkpoints: 0,
        standbys: 0,
        synchronous: false,
        offsets: &[],
        margin: 2,
        max_forward_step: None,
        passes: &[],
        switches: 0,
    }
}

/// Jumps ahead, time that passes, confirmations and crashes.
fn jumps(design: Design) -> Bounds {
    const LIMIT: i64 = 10 * RESERVATION;
    Bounds {
        design,
        limits: HOLDING,
        last_sequence: 1,
        ids: 2,
        reservations: 3,
        clock_moves: 2,
        moves: &[2 * LIMIT, -2 * LIMIT],
        crashes: 1,
        checkpoints: 0,
        standbys: 0,
        synchronous: false,
        offsets: &[],
        margin: 2,
        max_forward_step: Some(LIMIT),
        passes: &[3 * LIMIT],
        switches: 0,
    }
}

/// Two failovers in quick succession, the second one to a standby that may know of the first.
fn failovers(design: Design) -> Bounds {
    Bounds {
        design,
        limits: HOLDING,
        last_sequence: 0,
        ids: 3,
        reservations: 2,
        clock_moves: 2,
        moves: &[1, -2 * RESERVATION],
        crashes: 2,
        checkpoints: 0,
        standbys: 2,
        synchronous: false,
        offsets: &[0],
        margin: 2,
        max_forward_step: None,
        passes: &[],
        switches: 0,
    }
}

/// A synchronous standby, and IDs that are taken without rows.
fn synchronous(design: Design) -> Bounds {
    Bounds {
        reservations: 4,
        clock_moves: 2,
        moves: &[2 * RESERVATION, -4 * RESERVATION],
        crashes: 1,
        standbys: 1,
        synchronous: true,
        margin: 0,
        ..failovers(design)
    }
}

/// Promotions on machines whose clocks are on both sides of the limit.
fn promotions(design: Design) -> Bounds {
    const LIMIT: i64 = 10 * RESERVATION;
    Bounds {
        ids: 2,
        reservations: 3,
        clock_moves: 1,
        moves: &[2 * LIMIT],
        passes: &[3 * LIMIT],
        crashes: 2,
        standbys: 1,
        offsets: &[0, 2 * LIMIT, -2 * LIMIT, LIMIT / 2],
        max_forward_step: Some(LIMIT),
        ..failovers(design)
    }
}

/// Small steps back after which unused IDs are issued, and a crash.
fn reuse(design: Design) -> Bounds {
    Bounds {
        limits: Limits { reuse_window: 3, ..HOLDING },
        last_sequence: 1,
        ids: 3,
        reservations: 2,
        moves: &[2, -1],
        crashes: 1,
        switches: 1,
        ..clock_only(design)
    }
}

fn check(bounds: Bounds, finish: HasDiscoveries) -> impl Checker<Bounds> {
    bounds.checker().threads(2).finish_when(finish).spawn_bfs().join()
}

#[test]
fn the_design_holds() {
    for world in [everything, clock_only, jumps, failovers, synchronous, promotions, reuse] {
        let bounds = world(Design::Sound);
        let checker = check(bounds, HasDiscoveries::All);
        println!("{} states of {bounds:?}", checker.unique_state_count());
        checker.assert_properties();
    }
}

#[track_caller]
fn assert_found(bounds: Bounds, broken: Option<&'static str>) {
    let checker = check(bounds, HasDiscoveries::AnyOf([PROMISES].into()));
    let path = checker
        .discovery(PROMISES)
        .unwrap_or_else(|| panic!("nothing was found wrong with {:?}", bounds.design));
    assert_eq!(path.last_state().broken, broken);
}

const AGAIN: Option<&str> = Some("an ID came again, or did not increase");

#[test]
fn publishing_before_the_flush_is_found() {
    assert_found(everything(Design::PublishBeforeFlush), AGAIN);
}

#[test]
fn starting_at_the_record_is_found() {
    // The clock reaches the last millisecond that is reserved.
    let bounds =
        Bounds { moves: &[RESERVATION, -2 * RESERVATION], ..everything(Design::StartAtTheRecord) };
    assert_found(bounds, AGAIN);
}

#[test]
fn a_standby_without_the_register_is_found() {
    assert_found(everything(Design::StandbyWithoutRegister), AGAIN);
}

#[test]
fn a_record_that_takes_back_is_found() {
    assert_found(
        everything(Design::TakeBackWhatIsReserved),
        Some("a record took back what an earlier one had promised (I2)"),
    );
}

#[test]
fn judging_by_stale_readings_is_found() {
    assert_found(
        clock_only(Design::JudgeStaleReadings),
        Some("a clock that nobody set back was taken to have stepped"),
    );
}

#[test]
fn a_hold_that_switches_max_burst_off_is_found() {
    assert_found(
        clock_only(Design::HoldReplacesBurst),
        Some("a burst was not allowed as far as max_burst"),
    );
}

#[test]
fn a_start_that_forgets_the_clocks_is_found() {
    assert_found(
        jumps(Design::ForgetTheClocks),
        Some("a record follows a clock that jumped, unconfirmed"),
    );
}

#[test]
fn a_confirmation_that_is_forgotten_is_found() {
    assert_found(jumps(Design::ConfirmInMemory), Some("a clock that was confirmed is refused"));
}

#[test]
fn reserving_for_old_readings_is_found() {
    assert_found(
        jumps(Design::ReserveForOldReadings),
        Some("a record follows a reading that is out of date"),
    );
}

#[test]
fn a_margin_that_is_lost_over_two_failovers_is_found() {
    assert_found(failovers(Design::OneMargin), AGAIN);
}

#[test]
fn an_id_that_no_standby_knows_of_is_found() {
    assert_found(synchronous(Design::ForgetTheSynchronousStandby), AGAIN);
}

#[test]
fn a_promotion_that_forgets_its_upstream_is_found() {
    assert_found(
        promotions(Design::ForgetTheUpstream),
        Some("a record follows a clock that jumped, unconfirmed"),
    );
}

const TWICE: Option<&str> = Some("an ID was issued twice");

#[test]
fn reuse_of_what_nobody_recorded_is_found() {
    assert_found(reuse(Design::ForgetWhatWasUsed), TWICE);
}

#[test]
fn reuse_from_before_it_was_switched_on_is_found() {
    assert_found(reuse(Design::NothingWasUsedBefore), TWICE);
}

#[test]
fn issuing_what_was_reused_again_is_found() {
    assert_found(reuse(Design::ReuseAgain), TWICE);
}
