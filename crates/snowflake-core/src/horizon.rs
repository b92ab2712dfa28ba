//! The horizon: an ID up to which no row can still appear.
//!
//! A transaction takes an ID, and commits after another one that took a later ID. Whoever reads
//! rows in the order of their IDs has to stop before the first ID of each transaction that the
//! snapshot does not see. Where that ID is found depends on how far the transaction has come:
//!
//! - In the *slot* of its process, from the claim of the ID on. The slot is written under the
//!   generator's lock, together with the claim, so that a reader who has read the last ID under
//!   that lock, and reads the slots after it, finds the slot of each transaction that has taken an
//!   ID up to it. The slot is cleared after the transaction has become visible.
//! - In its *place* among those of the last transactions, by its transaction ID, from before its
//!   commit on: for snapshots that are older than the commit.
//! - In a *prepared slot*, if it is prepared. Nobody is told when it ends, so the prepared slot
//!   stays until its space is needed and it has ended.
//!
//! A reader reads in this order: last ID, slots, anonymous, prepared slots, places. A transaction
//! is put into its place, and into a prepared slot if it is prepared, before its slot is cleared,
//! so the reader finds it in one of them.
//!
//! An *anonymous* transaction has taken an ID, and has no transaction ID. It has inserted no row
//! here, but another transaction, that of postgres_fdw or of dblink, may have inserted one for it,
//! and have committed before it ends. No snapshot tells whether an anonymous one has ended. So the
//! server counts those that have, and keeps the largest horizon that was found, up to which every
//! later snapshot sees all. A process reads both when a transaction ends, which is before its next
//! snapshot. If an anonymous one may have ended after that snapshot, the horizon is at most the one
//! that the process read then. As a row of dblink stays when the transaction that took its ID is
//! rolled back, that transaction is put into its place, too.
//!
//! This module decides what is read and written, and in what order. The caller owns the memory.

/// The first ID of a transaction that has taken none: greater than any.
pub const NO_ID: i64 = i64::MAX;

/// An event at the end of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// It is about to commit, and not visible yet.
    PreCommit,
    /// It is about to be prepared.
    PrePrepare,
    /// It is prepared, and no longer that of its process.
    Prepared,
    /// It has become visible.
    Committed,
    /// It was rolled back.
    RolledBack,
}

/// An action at an [`Event`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Act {
    /// Puts the transaction into its place, as [`Place::wants`] says.
    Put,
    /// Puts it into a prepared slot, whether it has taken an ID or not.
    FillPreparedSlot,
    /// Counts it if it is anonymous: see [`Anonymous`].
    Count,
    /// Clears the slot.
    Clear,
}

impl Event {
    /// The actions at this event, in this order.
    pub fn acts(self) -> &'static [Act] {
        match self {
            Event::PreCommit => &[Act::Put],
            Event::PrePrepare => &[Act::Put, Act::FillPreparedSlot],
            Event::Prepared => &[Act::Clear],
            Event::Committed => &[Act::Count, Act::Clear],
            Event::RolledBack => &[Act::Put, Act::Count, Act::Clear],
        }
    }
}

/// The anonymous transactions that have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Anonymous {
    /// The number of those that have.
    pub count: u64,
    /// The server's next transaction ID when the last of them ended.
    pub next: u64,
}

/// Values that the process of the reader read before the transaction of the snapshot began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Before {
    /// [`Anonymous::count`].
    pub count: u64,
    /// The largest horizon that had been found.
    pub horizon: i64,
}

/// A place, which transactions share that have this remainder of their ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    xid: u64,
    first: i64,
    /// The highest transaction ID that another one has replaced here.
    gone: u64,
}

/// The answer of a place about a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The first ID that it has taken, or [`NO_ID`].
    First(i64),
    /// It was never put there.
    Nothing,
    /// If it was ever put there, another one has replaced it.
    Unknown,
}

impl Place {
    /// No transaction was put there.
    pub const EMPTY: Place = Place { xid: 0, first: NO_ID, gone: 0 };

    /// Returns whether a transaction has to be put there when it commits: if it has taken an ID, or
    /// if a reader could not know that it has taken none.
    pub fn wants(&self, xid: u64, first: i64) -> bool {
        xid != 0 && (first != NO_ID || self.find(xid) == Found::Unknown)
    }

    /// Puts a transaction there, in place of another one.
    pub fn put(&mut self, xid: u64, first: i64) {
        let gone = if self.xid == xid { self.gone } else { self.gone.max(self.xid) };
        *self = Place { xid, first, gone };
    }

    /// Looks for the transaction.
    pub fn find(&self, xid: u64) -> Found {
        if self.xid == xid {
            Found::First(self.first)
        } else if self.gone >= xid {
            Found::Unknown
        } else {
            Found::Nothing
        }
    }
}

/// A snapshot, by what it does not see: the transactions that ran when it was taken, and those that
/// began later. A subtransaction is not looked for: while it runs, so does the transaction that it
/// is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Snapshot<R> {
    /// The lower halves of the transaction IDs that ran.
    pub running: R,
    /// The lower half of the first transaction ID that is later than all that it sees.
    pub later: u32,
}

/// The memory that a [`Reader`] looks at.
pub trait Memory {
    /// The last ID that was taken, read under the generator's lock.
    fn last(&mut self) -> i64;

    /// The first ID in the slot of this number.
    fn slot(&mut self, number: usize) -> i64;

    /// The server's next transaction ID.
    fn next_xid(&mut self) -> u64;

    /// The anonymous transactions that have ended.
    fn anonymous(&mut self) -> Anonymous;

    /// The transaction ID in the prepared slot of this number, 0 if it is free, and the first ID.
    fn prepared_slot(&mut self, number: usize) -> (u64, i64);

    /// The place of this number.
    fn place(&mut self, number: usize) -> Place;

    /// Returns whether the transaction with this lower half of its ID has ended.
    fn has_ended(&mut self, xid: u32) -> bool;
}

/// The number of each in a [`Memory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sizes {
    /// Slots.
    pub slots: usize,
    /// Prepared slots.
    pub prepared_slots: usize,
    /// Places.
    pub places: usize,
}

/// The result of a [`Reader`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Horizon {
    /// The horizon of the snapshot.
    pub of_snapshot: i64,
    /// A horizon of all later snapshots, which see what was anonymous and has ended.
    pub of_later: i64,
}

/// Nothing is known any more of a transaction that the snapshot does not see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooOld;

/// Finds the horizon of a snapshot, one look at the memory after the other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reader<R> {
    snapshot: Snapshot<R>,
    before: Before,
    sizes: Sizes,
    step: Step,
    horizon: i64,
    /// The largest horizon that the anonymous transactions allow.
    limit: i64,
    /// The server's next transaction ID.
    next: u64,
    /// The number of steps about places that were made: [`Step::Transaction`] and [`Step::Place`].
    looked: usize,
}

/// The part of the memory that a reader looks at next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    Last,
    Slot(usize),
    NextXid,
    Anonymous,
    PreparedSlot(usize),
    /// The place of a transaction that the snapshot does not see.
    Transaction(u64),
    /// This transaction, of which its place knows nothing any more: it might have ended.
    Ended(u32),
    /// A place, where more transactions are later than there are places.
    Place(usize),
    Done,
}

impl<R: AsRef<[u32]>> Reader<R> {
    /// A reader for a memory of these sizes.
    pub fn new(snapshot: Snapshot<R>, before: Before, sizes: Sizes) -> Reader<R> {
        let (step, horizon, limit) = (Step::Last, 0, NO_ID);
        Reader { snapshot, before, sizes, step, horizon, limit, next: 0, looked: 0 }
    }

    /// Looks at one thing in the memory. Returns what was found once there is nothing left.
    pub fn look(&mut self, memory: &mut impl Memory) -> Option<Result<Horizon, TooOld>> {
        match self.step {
            Step::Last => self.horizon = memory.last(),
            Step::Slot(number) => self.lower(memory.slot(number)),
            // Read after the slots, so that it is greater than that of each transaction whose slot
            // was cleared before.
            Step::NextXid => self.next = memory.next_xid(),
            // Read after the slots, so that each whose slot was cleared before is among them. A
            // snapshot from after the end of a transaction that began after theirs is later than
            // all of them.
            Step::Anonymous => {
                let ended = memory.anonymous();
                if ended.count != self.before.count && ended.next >= self.first_later() {
                    self.limit = self.before.horizon;
                }
            }
            Step::PreparedSlot(number) => {
                let (xid, first) = memory.prepared_slot(number);
                if xid != 0 && self.is_unseen(xid) {
                    self.lower(first);
                }
            }
            Step::Transaction(xid) => {
                self.looked += 1;
                let number = (xid % self.sizes.places as u64) as usize;
                match memory.place(number).find(xid) {
                    Found::First(first) => self.lower(first),
                    Found::Nothing => {}
                    Found::Unknown => {
                        self.step = Step::Ended(xid as u32);
                        return None;
                    }
                }
            }
            // If it has not, it was in its slot or in a prepared slot, whose ID has lowered the
            // horizon already.
            Step::Ended(xid) => {
                if memory.has_ended(xid) {
                    return Some(Err(TooOld));
                }
            }
            Step::Place(number) => {
                self.looked += 1;
                let place = memory.place(number);
                if place.gone >= self.first_later() {
                    return Some(Err(TooOld));
                } else if place.xid >= self.first_later() {
                    self.lower(place.first);
                }
            }
            Step::Done => {
                let of_snapshot = self.horizon.min(self.limit);
                return Some(Ok(Horizon { of_snapshot, of_later: self.horizon }));
            }
        }
        self.step = self.following();
        None
    }

    fn following(&self) -> Step {
        let Sizes { slots, prepared_slots, .. } = self.sizes;
        match self.step {
            Step::Last if slots > 0 => Step::Slot(0),
            Step::Slot(number) if number + 1 < slots => Step::Slot(number + 1),
            Step::Last | Step::Slot(_) => Step::NextXid,
            Step::NextXid => Step::Anonymous,
            Step::Anonymous if prepared_slots > 0 => Step::PreparedSlot(0),
            Step::PreparedSlot(number) if number + 1 < prepared_slots => {
                Step::PreparedSlot(number + 1)
            }
            _ => self.next_place(),
        }
    }

    /// The transactions that ran come first, and then the later ones. If these are more than there
    /// are places, each place is looked at once instead.
    fn next_place(&self) -> Step {
        let running = self.running();
        if let Some(xid) = running.get(self.looked) {
            return Step::Transaction(self.whole(*xid));
        }
        let number = self.looked - running.len();
        let (first, places) = (self.first_later(), self.sizes.places as u64);
        let later = self.next - first;
        if number as u64 == later.min(places) {
            Step::Done
        } else if later > places {
            Step::Place(number)
        } else {
            Step::Transaction(first + number as u64)
        }
    }

    fn running(&self) -> &[u32] {
        self.snapshot.running.as_ref()
    }

    fn lower(&mut self, first: i64) {
        self.horizon = self.horizon.min(first.saturating_sub(1));
    }

    /// The first transaction ID that is later than all that the snapshot sees.
    fn first_later(&self) -> u64 {
        self.whole(self.snapshot.later)
    }

    fn is_unseen(&self, xid: u64) -> bool {
        xid >= self.first_later() || self.running().contains(&(xid as u32))
    }

    /// The transaction ID with this lower half, which is at most the next one.
    fn whole(&self, xid: u32) -> u64 {
        self.next - u64::from((self.next as u32).wrapping_sub(xid))
    }
}
