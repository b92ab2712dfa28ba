//! What can happen between sessions and a reader, and what has to hold.

use snowflake_core::horizon::{Act, Event, Lookup, NO_ID, Place, Reader, Snapshot};
use stateright::{Model, Property};

pub const PROMISES: &str = "no row appears up to a horizon, and no horizon falls";

/// How the server works: as it does, or wrong in one way.
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
}

/// What is checked, and how much of it.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub design: Design,
    pub sessions: usize,
    pub readings: usize,
}

const IDS: i64 = 2;
const TRANSACTIONS: u64 = 2;
const PLACES: usize = 1;

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
    /// What is left to do before the phase ends.
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
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The session's transaction takes an ID, itself or by a parallel worker.
    Take(usize, bool),
    /// What was claimed comes into the slot.
    Write(usize),
    /// It gets a transaction ID, as with its first row.
    Identify(usize),
    Commit(usize),
    RollBack(usize),
    Prepare(usize),
    /// The next act of the session's end, or the end of the phase.
    Act(usize),
    CommitPrepared(usize),
    RollBackPrepared(usize),
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
            if session.phase != Phase::Open {
                actions.push(Action::Act(number));
                continue;
            }
            if session.claimed.is_some() {
                actions.push(Action::Write(number));
                continue;
            }
            if world.last < IDS {
                actions.push(Action::Take(number, false));
                if session.xid == 0 {
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
            if session.xid != 0 {
                actions.push(Action::Prepare(number));
            }
        }
        for number in 0..world.prepared.len() {
            actions.push(Action::CommitPrepared(number));
            actions.push(Action::RollBackPrepared(number));
        }
        match world.reader {
            Some(_) => actions.push(Action::Read),
            None if world.readings < self.readings => actions.push(Action::Look),
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
                world.begin(number, Phase::Ended, Event::Ended.acts());
            }
            Action::Prepare(number) => {
                world.begin(number, Phase::PrePrepare, Event::PrePrepare.acts());
                let acts = &mut world.sessions[number].acts;
                match self.design {
                    Design::ClearedBeforeHeld => acts.insert(1, Act::Clear),
                    Design::NotHeld => acts.retain(|act| *act != Act::FillPreparedSlot),
                    _ => {}
                }
            }
            Action::Act(number) => world.act(self.design, number),
            Action::CommitPrepared(number) => {
                let row = world.prepared.remove(number);
                world.running.retain(|running| *running != row.xid);
                world.show(row);
            }
            Action::RollBackPrepared(number) => {
                let row = world.prepared.remove(number);
                world.running.retain(|running| *running != row.xid);
            }
            Action::Look => {
                let mut later = world.next_visible();
                let mut running: Vec<u32> = world.running.iter().map(|xid| *xid as u32).collect();
                running.retain(|xid| *xid < later);
                running.sort_unstable();
                if self.design == Design::SnapshotIgnored {
                    (running, later) = (Vec::new(), world.next as u32);
                }
                let snapshot = Snapshot { running, later };
                let sizes = [world.sessions.len(), world.prepared_slots.len(), world.places.len()];
                let reader = Reader::new(snapshot, sizes[0], sizes[1], sizes[2]);
                let saw = world.visible.iter().map(|row| row.xid).collect();
                world.reader = Some(Reading { reader, saw });
                world.readings += 1;
            }
            Action::Read => world.read(self.design),
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

    fn act(&mut self, design: Design, number: usize) {
        let session = &mut self.sessions[number];
        let row = Row { xid: session.xid, first: session.first };
        if session.acts.is_empty() {
            return self.end_phase(number, row);
        }
        match session.acts.remove(0) {
            Act::Clear => session.slot = NO_ID,
            Act::Put => {
                let place = &mut self.places[(row.xid % PLACES as u64) as usize];
                if place.wants(row.xid, session.slot) {
                    if design == Design::TakenWithoutATrace {
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

    fn end_phase(&mut self, number: usize, row: Row) {
        match self.sessions[number].phase {
            Phase::PreCommit => {
                if row.xid != 0 {
                    self.running.retain(|running| *running != row.xid);
                    self.show(row);
                }
                self.begin(number, Phase::Ended, Event::Ended.acts());
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

    fn read(&mut self, design: Design) {
        let Some(Reading { reader, saw }) = &mut self.reader else { return };
        let last_at_the_end = design == Design::LastReadAfterTheSlots;
        match reader.lookup() {
            Lookup::Last if last_at_the_end => reader.last(NO_ID),
            Lookup::Last => reader.last(self.last),
            Lookup::Slot(number) => reader.slot(self.sessions[number].slot),
            Lookup::Next => reader.next(self.next),
            Lookup::PreparedSlot(number) => {
                reader.prepared_slot(
                    self.prepared_slots[number].xid,
                    self.prepared_slots[number].first,
                );
            }
            Lookup::Place(number) => reader.place(&self.places[number]),
            Lookup::Committed(xid) => {
                reader.committed(self.visible.iter().any(|row| row.xid == u64::from(xid)));
            }
            Lookup::Done(horizon) => {
                let horizon = if last_at_the_end { horizon.min(self.last) } else { horizon };
                let before = self.found.take().map_or(0, |(before, _)| before);
                self.broken |= horizon < before;
                self.found = Some((horizon, std::mem::take(saw)));
                self.reader = None;
            }
            Lookup::TooOld => self.reader = None,
        }
    }
}
