//! The events that can happen between sessions and a reader, and the invariants.

use snowflake_core::horizon::{
    Act, Anonymous, Before, Event, Horizon, Memory, NO_ID, Place, Reader, Sizes, Snapshot, TooOld,
};
use stateright::{Model, Property};

pub const PROMISES: &str = "no row appears up to a horizon, and no horizon falls";

/// Designs of the server: the real one, and others that are wrong in one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Design {
    Sound,
    /// A slot is cleared before the row is visible.
    ClearedBeforeVisible,
    /// A slot is written after the claim.
    WrittenAfterTheClaim,
    LastReadAfterTheSlots,
    /// A worker does not write into the slot of its leader.
    LeaderForgotten,
    /// A slot is cleared before the prepared slot is written.
    ClearedBeforeHeld,
    SnapshotIgnored,
    /// A place does not know from whom it was taken.
    TakenWithoutATrace,
    /// A prepared transaction has no prepared slot.
    NotHeld,
    /// An anonymous transaction is not counted.
    NotCounted,
    /// A slot is cleared before its anonymous transaction is counted.
    ClearedBeforeCounted,
    AnonymousReadBeforeTheSlots,
    /// One that is rolled back is not put into its place.
    RolledBackForgotten,
}

/// The part of the states that is checked.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub design: Design,
    pub sessions: usize,
    pub readings: usize,
    /// The number of IDs.
    pub ids: i64,
    /// True if others insert rows for the sessions, which have no workers then, and prepare
    /// nothing.
    pub elsewhere: bool,
}

const TRANSACTIONS: u64 = 2;
const PLACES: usize = 1;
/// Added to an ID: the transaction that inserts its row elsewhere.
const ELSEWHERE: u64 = 100;

/// A session, and its transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Session {
    slot: i64,
    /// The first ID that its transaction has taken, as it is.
    first: i64,
    /// The ID that is taken, and not in the slot yet.
    claimed: Option<i64>,
    xid: u64,
    phase: Phase,
    /// Acts that are left before the phase ends.
    acts: Vec<Act>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Open,
    PreCommit,
    /// The acts of its end, after it has become visible or was rolled back.
    Ended,
    PrePrepare,
    Prepared,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Row {
    xid: u64,
    first: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    last: i64,
    next: u64,
    sessions: Vec<Session>,
    /// Transactions that run, prepared ones among them.
    running: Vec<u64>,
    prepared: Vec<Row>,
    prepared_slots: Vec<Row>,
    places: Vec<Place>,
    anonymous: Anonymous,
    /// The largest horizon that was found.
    horizon: i64,
    /// The values that the reader read when its last transaction ended.
    before: Before,
    /// Rows that are visible to new snapshots.
    visible: Vec<Row>,
    reader: Option<Reading>,
    readings: usize,
    /// The last horizon, and the transactions that its snapshot saw.
    found: Option<(i64, Vec<u64>)>,
    pub broken: bool,
}

/// The reader, between two steps, and the transactions that his snapshot sees.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Reading {
    reader: Reader<Vec<u32>>,
    saw: Vec<u64>,
    anonymous: Anonymous,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The session's transaction takes an ID, itself or by a parallel worker.
    Take(usize, bool),
    /// Writes the claim into the slot.
    Write(usize),
    /// It gets a transaction ID, as with its first row.
    Identify(usize),
    Commit(usize),
    RollBack(usize),
    Prepare(usize),
    /// Another transaction inserts a row with the first ID of the session's, and commits.
    InsertElsewhere(usize),
    /// The next act of the session's end, or the end of the phase.
    Act(usize),
    CommitPrepared(usize),
    RollBackPrepared(usize),
    /// A transaction of the reader ends in which he has read nothing.
    Rest,
    /// The reader takes a snapshot.
    Look,
    Read,
}

impl Model for Bounds {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let session = Session {
            slot: NO_ID,
            first: NO_ID,
            claimed: None,
            xid: 0,
            phase: Phase::Open,
            acts: Vec::new(),
        };
        vec![World {
            last: 0,
            next: 1,
            sessions: vec![session; self.sessions],
            running: Vec::new(),
            prepared: Vec::new(),
            prepared_slots: vec![Row { xid: 0, first: NO_ID }; self.sessions],
            places: vec![Place::EMPTY; PLACES],
            anonymous: Anonymous::default(),
            horizon: 0,
            before: Before::default(),
            visible: Vec::new(),
            reader: None,
            readings: 0,
            found: None,
            broken: false,
        }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        if world.broken {
            return;
        }
        for (number, session) in world.sessions.iter().enumerate() {
            let is_running = matches!(session.phase, Phase::Open | Phase::PreCommit);
            let row = elsewhere(session.first);
            if self.elsewhere
                && is_running
                && session.first != NO_ID
                && !world.visible.contains(&row)
            {
                actions.push(Action::InsertElsewhere(number));
            }
            if session.phase != Phase::Open {
                actions.push(Action::Act(number));
                continue;
            }
            if session.claimed.is_some() {
                actions.push(Action::Write(number));
                continue;
            }
            if world.last < self.ids {
                actions.push(Action::Take(number, false));
                if session.xid == 0 && !self.elsewhere {
                    // Workers begin before there is a transaction ID, or use that of the leader:
                    // either way, they write into the same slot.
                    actions.push(Action::Take(number, true));
                }
            }
            if session.xid == 0 && world.next <= TRANSACTIONS {
                actions.push(Action::Identify(number));
            }
            if session.xid != 0 || session.first != NO_ID {
                actions.push(Action::Commit(number));
                actions.push(Action::RollBack(number));
            }
            if session.xid != 0 && !self.elsewhere {
                actions.push(Action::Prepare(number));
            }
        }
        for number in 0..world.prepared.len() {
            actions.push(Action::CommitPrepared(number));
            actions.push(Action::RollBackPrepared(number));
        }
        match world.reader {
            Some(_) => actions.push(Action::Read),
            None if world.readings < self.readings => {
                actions.push(Action::Look);
                if self.elsewhere && self.readings > 1 {
                    actions.push(Action::Rest);
                }
            }
            None => {}
        }
    }

    fn next_state(&self, before: &World, action: Action) -> Option<World> {
        let mut world = before.clone();
        match action {
            Action::Take(number, by_worker) => world.take(self.design, number, by_worker),
            Action::Write(number) => {
                let session = &mut world.sessions[number];
                let id = session.claimed.take()?;
                session.slot = session.slot.min(id);
            }
            Action::Identify(number) => {
                world.sessions[number].xid = world.next;
                world.running.push(world.next);
                world.next += 1;
            }
            Action::Commit(number) => {
                world.begin(number, Phase::PreCommit, Event::PreCommit.acts());
                if self.design == Design::ClearedBeforeVisible {
                    world.sessions[number].acts.push(Act::Clear);
                }
            }
            Action::RollBack(number) => {
                let xid = world.sessions[number].xid;
                world.running.retain(|running| *running != xid);
                world.end(*self, number, Event::RolledBack);
            }
            Action::InsertElsewhere(number) => world.show(elsewhere(world.sessions[number].first)),
            Action::Prepare(number) => {
                world.begin(number, Phase::PrePrepare, Event::PrePrepare.acts());
                let acts = &mut world.sessions[number].acts;
                match self.design {
                    Design::ClearedBeforeHeld => acts.insert(1, Act::Clear),
                    Design::NotHeld => acts.retain(|act| *act != Act::FillPreparedSlot),
                    _ => {}
                }
            }
            Action::Act(number) => world.act(*self, number),
            Action::CommitPrepared(number) => {
                let row = world.prepared.remove(number);
                world.running.retain(|running| *running != row.xid);
                world.show(row);
            }
            Action::RollBackPrepared(number) => {
                let row = world.prepared.remove(number);
                world.running.retain(|running| *running != row.xid);
            }
            Action::Rest => world.rest(),
            Action::Look => {
                let mut later = world.next_visible();
                let mut running: Vec<u32> = world.running.iter().map(|xid| *xid as u32).collect();
                running.retain(|xid| *xid < later);
                running.sort_unstable();
                if self.design == Design::SnapshotIgnored {
                    (running, later) = (Vec::new(), world.next as u32);
                }
                let snapshot = Snapshot { running, later };
                let sizes = Sizes {
                    slots: world.sessions.len(),
                    prepared_slots: world.prepared_slots.len(),
                    places: world.places.len(),
                };
                let reader = Reader::new(snapshot, world.before, sizes);
                let saw = world.visible.iter().map(|row| row.xid).collect();
                world.reader = Some(Reading { reader, saw, anonymous: world.anonymous });
                world.readings += 1;
            }
            Action::Read => world.read(*self),
        }
        if let Some((horizon, saw)) = &world.found {
            let mut unseen = world.visible.iter().filter(|row| !saw.contains(&row.xid));
            world.broken |= unseen.any(|row| row.first <= *horizon);
        }
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Bounds>> {
        vec![Property::always(PROMISES, |_, world: &World| !world.broken)]
    }
}

/// The row that another transaction inserts with this ID.
fn elsewhere(first: i64) -> Row {
    Row { xid: ELSEWHERE.wrapping_add_signed(first), first }
}

impl World {
    fn take(&mut self, design: Design, number: usize, by_worker: bool) {
        self.last += 1;
        let id = self.last;
        let session = &mut self.sessions[number];
        session.first = session.first.min(id);
        match design {
            Design::WrittenAfterTheClaim => session.claimed = Some(id),
            Design::LeaderForgotten if by_worker => {}
            _ => session.slot = session.slot.min(id),
        }
    }

    fn begin(&mut self, number: usize, phase: Phase, acts: &[Act]) {
        let session = &mut self.sessions[number];
        session.phase = phase;
        session.acts = acts.to_vec();
    }

    fn act(&mut self, bounds: Bounds, number: usize) {
        let session = &mut self.sessions[number];
        let row = Row { xid: session.xid, first: session.first };
        if session.acts.is_empty() {
            return self.end_phase(bounds, number, row);
        }
        match session.acts.remove(0) {
            Act::Clear => session.slot = NO_ID,
            Act::Count => {
                let Anonymous { count, next } = self.anonymous;
                self.anonymous = Anonymous { count: count + 1, next: next.max(self.next) };
            }
            Act::Put => {
                let place = &mut self.places[(row.xid % PLACES as u64) as usize];
                if place.wants(row.xid, session.slot) {
                    if bounds.design == Design::TakenWithoutATrace {
                        *place = Place::EMPTY;
                    }
                    place.put(row.xid, session.slot);
                }
            }
            Act::FillPreparedSlot => {
                let first = session.slot;
                let is_free = |prepared_slot: &&mut Row| !self.running.contains(&prepared_slot.xid);
                if let Some(prepared_slot) = self.prepared_slots.iter_mut().find(is_free) {
                    *prepared_slot = Row { xid: row.xid, first };
                }
            }
        }
    }

    fn end(&mut self, bounds: Bounds, number: usize, event: Event) {
        self.begin(number, Phase::Ended, event.acts());
        let Session { acts, xid, first, .. } = &mut self.sessions[number];
        // Acts that make no difference would only make more states.
        acts.retain(|act| match act {
            Act::Count => bounds.elsewhere && *xid == 0 && *first != NO_ID,
            Act::Put => bounds.elsewhere && *xid != 0,
            _ => true,
        });
        match bounds.design {
            Design::NotCounted => acts.retain(|act| *act != Act::Count),
            Design::ClearedBeforeCounted => acts.insert(0, Act::Clear),
            Design::RolledBackForgotten => acts.retain(|act| *act != Act::Put),
            _ => {}
        }
    }

    fn end_phase(&mut self, bounds: Bounds, number: usize, row: Row) {
        match self.sessions[number].phase {
            Phase::PreCommit => {
                if row.xid != 0 {
                    self.running.retain(|running| *running != row.xid);
                    self.show(row);
                }
                self.end(bounds, number, Event::Committed);
            }
            Phase::PrePrepare => {
                self.prepared.push(row);
                self.begin(number, Phase::Prepared, Event::Prepared.acts());
            }
            Phase::Open | Phase::Ended | Phase::Prepared => {
                let session = &mut self.sessions[number];
                session.first = NO_ID;
                session.xid = 0;
                session.phase = Phase::Open;
            }
        }
    }

    fn show(&mut self, row: Row) {
        self.visible.push(row);
        self.visible.sort_unstable_by_key(|row| row.xid);
    }

    /// As PostgreSQL's `xmax`: after the latest transaction that has ended.
    fn next_visible(&self) -> u32 {
        let ended = (1..self.next).rev().find(|xid| !self.running.contains(xid));
        ended.map_or(1, |xid| xid as u32 + 1)
    }

    fn read(&mut self, bounds: Bounds) {
        let Some(mut reading) = self.reader.take() else { return };
        let memory = &mut Seen { world: self, bounds, anonymous: reading.anonymous };
        match reading.reader.look(memory) {
            None => self.reader = Some(reading),
            Some(Ok(Horizon { mut of_snapshot, of_later })) => {
                if bounds.design == Design::LastReadAfterTheSlots {
                    of_snapshot = of_snapshot.min(self.last);
                }
                let before = self.found.take().map_or(0, |(before, _)| before);
                self.broken |= of_snapshot < before;
                self.found = Some((of_snapshot, reading.saw));
                if bounds.elsewhere {
                    self.horizon = self.horizon.max(of_later);
                    self.rest();
                }
            }
            Some(Err(TooOld)) => {}
        }
    }

    fn rest(&mut self) {
        self.before = Before { count: self.anonymous.count, horizon: self.horizon };
    }
}

/// The memory, as a reader of the design sees it.
struct Seen<'a> {
    world: &'a World,
    bounds: Bounds,
    /// The transactions that had ended before the reader began.
    anonymous: Anonymous,
}

impl Memory for Seen<'_> {
    fn last(&mut self) -> i64 {
        match self.bounds.design {
            Design::LastReadAfterTheSlots => NO_ID,
            _ => self.world.last,
        }
    }

    fn slot(&mut self, number: usize) -> i64 {
        self.world.sessions[number].slot
    }

    fn next_xid(&mut self) -> u64 {
        self.world.next
    }

    fn anonymous(&mut self) -> Anonymous {
        match self.bounds.design {
            Design::AnonymousReadBeforeTheSlots => self.anonymous,
            _ => self.world.anonymous,
        }
    }

    fn prepared_slot(&mut self, number: usize) -> (u64, i64) {
        let Row { xid, first } = self.world.prepared_slots[number];
        (xid, first)
    }

    fn place(&mut self, number: usize) -> Place {
        self.world.places[number]
    }

    fn has_ended(&mut self, xid: u32) -> bool {
        !self.world.running.contains(&u64::from(xid))
    }
}
