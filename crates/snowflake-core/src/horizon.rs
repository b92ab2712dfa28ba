//! The horizon: an ID up to which no row can still appear.
//!
//! A transaction takes an ID, and commits after another one that took a later ID. Whoever reads
//! rows in the order of their IDs has to stop before the first ID of each transaction that his
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
//! A reader reads in this order: last ID, slots, anonymous, prepared slots, places. Since a
//! transaction is put into its place, and into a prepared slot, before its slot is cleared, he
//! finds it in one of them.
//!
//! An *anonymous* transaction has taken an ID, and has no transaction ID. It has inserted no row
//! here, but another transaction may have inserted one for it, and have committed before it ends:
//! that of postgres_fdw or of dblink. No snapshot tells whether an anonymous one has ended. So the
//! server counts those that have, and keeps the largest horizon that was found, up to which every
//! later snapshot sees all. A process reads both when a transaction ends, which is before the next
//! snapshot. If an anonymous one may have ended after that snapshot, the reader goes by the horizon
//! that he read then. As a row of dblink stays when the transaction that took its ID is rolled
//! back, that is put into its place, too.
//!
//! What is read and written, and in what order, is decided here. The caller owns the memory.

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

/// What is done at an [`Event`].
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
    /// What is done at this event, in this order.
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
    /// How many have.
    pub count: u64,
    /// What was the server's next transaction ID when the last of them ended.
    pub next: u64,
}

/// What the process of the reader read before the transaction of the snapshot began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Before {
    /// [`Anonymous::count`].
    pub count: u64,
    /// The largest horizon that had been found.
    pub horizon: i64,
}

/// What is known of the transactions that share a place: those with this remainder of their ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    xid: u64,
    first: i64,
    /// The highest transaction ID that the place was taken from.
    gone: u64,
}

/// What a place knows of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Its first ID, or [`NO_ID`].
    First(i64),
    /// It was never put there.
    Nothing,
    /// It might have been put there, and the place was taken from it.
    Unknown,
}

impl Place {
    /// No transaction was put there.
    pub const EMPTY: Place = Place { xid: 0, first: NO_ID, gone: 0 };

    /// Whether a transaction has to be put there when it commits: if it has taken an ID, or if a
    /// reader could not know that it has taken none.
    pub fn wants(&self, xid: u64, first: i64) -> bool {
        xid != 0 && (first != NO_ID || self.find(xid) == Found::Unknown)
    }

    /// Puts a transaction there, in place of another one.
    pub fn put(&mut self, xid: u64, first: i64) {
        let gone = if self.xid == xid { self.gone } else { self.gone.max(self.xid) };
        *self = Place { xid, first, gone };
    }

    /// What is known of the transaction.
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

/// What a snapshot does not see: the transactions that ran when it was taken, and those that began
/// later. Subtransactions are not told apart; that of each of them that has one runs, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Snapshot<R> {
    /// The lower halves of the transaction IDs that ran.
    pub running: R,
    /// The lower half of the first transaction ID that is later than all that it sees.
    pub later: u32,
}

/// What the reader needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lookup {
    /// The last ID that was taken, read under the generator's lock: [`Reader::last`].
    Last,
    /// The slot of this number: [`Reader::slot`].
    Slot(usize),
    /// The next transaction ID of the server: [`Reader::next`].
    Next,
    /// The anonymous transactions that have ended: [`Reader::anonymous`].
    Anonymous,
    /// The prepared slot of this number: [`Reader::prepared_slot`].
    PreparedSlot(usize),
    /// The place of this number: [`Reader::place`].
    Place(usize),
    /// Whether the transaction of this ID, in its lower half, has ended: [`Reader::ended`].
    Ended(u32),
    /// The horizon of the snapshot, and one of all later ones, which see what was anonymous and
    /// ended.
    Done(i64, i64),
    /// Nothing is known of a transaction that the snapshot does not see.
    TooOld,
}

/// Finds the horizon of a snapshot, one lookup after the other. What was looked up is handed to the
/// method that has the name of the lookup.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reader<R> {
    snapshot: Snapshot<R>,
    before: Before,
    /// How many slots, prepared slots and places there are.
    sizes: [usize; 3],
    horizon: i64,
    /// What the horizon is at most, for the sake of anonymous transactions.
    limit: i64,
    next: u64,
    lookup: Lookup,
    /// The number of transactions that were looked for, those that ran before the later ones; or of
    /// places that were looked at instead of the later ones: see [`Reader::has_more_than_places`].
    looked: usize,
}

impl<R: AsRef<[u32]>> Reader<R> {
    /// A reader for memory of so many slots, prepared slots and places.
    pub fn new(
        snapshot: Snapshot<R>,
        before: Before,
        slots: usize,
        prepared_slots: usize,
        places: usize,
    ) -> Reader<R> {
        let sizes = [slots, prepared_slots, places];
        let (horizon, limit) = (0, NO_ID);
        let lookup = Lookup::Last;
        Reader { snapshot, before, sizes, horizon, limit, next: 0, lookup, looked: 0 }
    }

    /// What is needed next.
    pub fn lookup(&self) -> Lookup {
        self.lookup
    }

    /// The last ID that was taken.
    pub fn last(&mut self, id: i64) {
        self.horizon = id;
        self.lookup = self.slot_or_next(0);
    }

    /// The first ID in the slot.
    pub fn slot(&mut self, first: i64) {
        self.lower(first);
        if let Lookup::Slot(number) = self.lookup {
            self.lookup = self.slot_or_next(number + 1);
        }
    }

    /// The server's next transaction ID. It is read after the slots, so that it is greater than
    /// that of each transaction whose slot was cleared before.
    pub fn next(&mut self, xid: u64) {
        self.next = xid;
        self.lookup = Lookup::Anonymous;
    }

    /// Those that have ended. They are read after the slots, so that each whose slot was cleared
    /// before is among them. A snapshot from after the end of a transaction that began after theirs
    /// is later than all of them.
    pub fn anonymous(&mut self, ended: Anonymous) {
        if ended.count != self.before.count && ended.next >= self.first_later() {
            self.limit = self.before.horizon;
        }
        self.lookup = self.prepared_slot_or_place(0);
    }

    /// The transaction ID of the prepared slot, 0 if it is free, and the first ID.
    pub fn prepared_slot(&mut self, xid: u64, first: i64) {
        if xid != 0 && self.is_unseen(xid) {
            self.lower(first);
        }
        if let Lookup::PreparedSlot(number) = self.lookup {
            self.lookup = self.prepared_slot_or_place(number + 1);
        }
    }

    /// What is in the place.
    pub fn place(&mut self, place: &Place) {
        match self.transaction_looked_for() {
            Some(xid) => match place.find(xid) {
                Found::First(first) => self.lower(first),
                Found::Nothing => {}
                Found::Unknown => {
                    self.lookup = Lookup::Ended(xid as u32);
                    return;
                }
            },
            None if place.gone >= self.first_later() => {
                self.lookup = Lookup::TooOld;
                return;
            }
            None if place.xid >= self.first_later() => self.lower(place.first),
            None => {}
        }
        self.look_further();
    }

    /// True if the transaction has ended. If not, it was in its slot or in a prepared slot, whose
    /// ID has lowered the horizon already.
    pub fn ended(&mut self, has_ended: bool) {
        if has_ended {
            self.lookup = Lookup::TooOld;
        } else {
            self.look_further();
        }
    }

    fn running(&self) -> &[u32] {
        self.snapshot.running.as_ref()
    }

    fn lower(&mut self, first: i64) {
        self.horizon = self.horizon.min(first.saturating_sub(1));
    }

    fn slot_or_next(&self, number: usize) -> Lookup {
        let [slots, ..] = self.sizes;
        if number < slots { Lookup::Slot(number) } else { Lookup::Next }
    }

    fn prepared_slot_or_place(&self, number: usize) -> Lookup {
        let [_, prepared_slots, _] = self.sizes;
        if number < prepared_slots { Lookup::PreparedSlot(number) } else { self.place_or_done() }
    }

    fn look_further(&mut self) {
        self.looked += 1;
        self.lookup = self.place_or_done();
    }

    fn place_or_done(&self) -> Lookup {
        let [_, _, places] = self.sizes;
        if let Some(xid) = self.transaction_looked_for() {
            return Lookup::Place((xid % places as u64) as usize);
        }
        let number = self.looked - self.running().len();
        if self.has_more_than_places() && number < places {
            Lookup::Place(number)
        } else {
            Lookup::Done(self.horizon.min(self.limit), self.horizon)
        }
    }

    /// The transaction that is looked for now; `None` where places are looked at instead, or at the
    /// end.
    fn transaction_looked_for(&self) -> Option<u64> {
        let running = self.running();
        if let Some(xid) = running.get(self.looked) {
            return Some(self.whole(*xid));
        }
        let xid = self.first_later() + (self.looked - running.len()) as u64;
        (!self.has_more_than_places() && xid < self.next).then_some(xid)
    }

    /// Returns whether more transactions are later than there are places: then each place is looked
    /// at once.
    fn has_more_than_places(&self) -> bool {
        let [_, _, places] = self.sizes;
        self.next - self.first_later() > places as u64
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
