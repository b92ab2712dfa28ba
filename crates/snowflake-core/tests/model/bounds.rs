//! The design, the ways in which it could be wrong, and the small worlds that show it. Numbers are
//! of milliseconds.

use snowflake_core::generator::{self, Limits};
use snowflake_core::layout::{Layout, TWITTER_EPOCH, Widths};
use snowflake_core::promise::Request;
use snowflake_core::time::Span;

pub const RESERVATION: i64 = generator::RESERVATION.0;

/// The design, and the ways in which it could be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
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
    /// A session reserves for an old reading, wherever the clock is now.
    ReserveForOldReadings,
    /// A promotion adds one margin, however many timelines have begun since the record.
    OneMargin,
    /// A promotion adds nothing for what the lost server has observed.
    ForgetTheObservation,
    /// A commit waits for no standby, where no row was written.
    ForgetTheSynchronousStandby,
    /// That a standby has a reservation, or that there is none to wait for, is kept as a fact: IDs
    /// of this reservation never wait again.
    KeepAcknowledgements,
    /// Where IDs are ahead of the clock, a reservation reaches as little as the first one of an
    /// incarnation.
    ReachLittle,
    /// A promotion compares its clock with the record's alone.
    ForgetTheUpstream,
    /// A millisecond is not recorded when the generator moves on.
    ForgetWhatWasUsed,
    /// It is assumed that nothing was used before reuse was switched on, or before the start.
    NothingWasUsedBefore,
    /// The ring does not record what is reused.
    ReuseAgain,
    /// The ring does not forget the milliseconds up to an observed one.
    KeepTheRing,
    /// The limit of an observation is judged before the wait for the lock and the flush, and not
    /// again.
    JudgeBeforeTheLock,
    /// An ID of the queue is returned at once.
    ReturnEarly,
    /// Whatever lead there is while the queue leads is the queue's.
    TakeAStepForTheQueue,
    /// The queue grows for as long as there are requests.
    QueueWithoutABound,
    /// A session of the queue sleeps until the clock is there, whoever sets it back.
    SleepByTheClock,
}

/// The use of the IDs that are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Each is written into a row, whose transaction commits.
    Each,
    /// None is written, and each transaction commits.
    None,
    /// The use by clients never reaches the WAL: only the formula holds.
    Lost,
}

/// When others act while a session has the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steps {
    /// Before each effect.
    Each,
    /// Before a flush, and before a floor is published.
    Few,
}

/// The layouts that a server might be configured with. Under the second one, IDs are above those of
/// the first; under the third one, they are not.
pub fn layouts() -> [Layout; 3] {
    [(TWITTER_EPOCH, 12), (TWITTER_EPOCH, 13), (TWITTER_EPOCH + Span(1_000_000), 12)].map(
        |(epoch, sequence)| {
            let widths = Widths { sequence, ..Layout::TWITTER.widths() };
            Layout::new(epoch, widths).expect("a valid layout")
        },
    )
}

/// The events that can happen, and their numbers.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub design: Design,
    pub limits: Limits,
    pub last_sequence: u32,
    pub ids: usize,
    pub reservations: u8,
    pub clock_moves: u8,
    /// By how much a move changes the clock.
    pub moves: &'static [i64],
    pub crashes: u8,
    pub checkpoints: u8,
    pub standbys: usize,
    /// The use of the IDs that are taken.
    pub rows: Rows,
    /// The number of times that the standby for which commits wait changes.
    pub requirements: u8,
    /// The leads of the clocks of standbys over the primary's.
    pub offsets: &'static [i64],
    pub margin: i64,
    /// The largest jump ahead that is followed; `None` is no limit.
    pub max_forward_step: Option<i64>,
    /// The times that can pass at once, on all clocks.
    pub passes: &'static [i64],
    /// For how long sessions may take every ID that there is.
    pub rushes: &'static [i64],
    /// The number of times that a session with an old setting may switch reuse on or off.
    pub switches: u8,
    pub steps: Steps,
    /// The number of times that the administrator does one of these: set a floor so far ahead of
    /// the clock, by force or not; confirm; observe an ID so far ahead of the clock.
    pub administrations: u8,
    pub floors: &'static [(i64, bool)],
    pub confirmations: &'static [Request],
    pub observed: &'static [i64],
    pub max_observed_lead: i64,
    /// The number of times that an effect fails, or a session ends between two.
    pub failures: u8,
    /// The number of restarts with another layout or as another system.
    pub changes: u8,
    /// The number of restores from a backup.
    pub restores: u8,
}

/// Every step back is held. No ID ahead of the clock, nothing reused.
const HOLDING: Limits = Limits {
    max_burst: Some(Span::ZERO),
    reuse_window: Span::ZERO,
    max_backward_step: None,
    max_wait: Some(Span::ZERO),
    max_queue: Span::ZERO,
};

/// Everything at once, and little of each.
pub fn everything(design: Design) -> Bounds {
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
        rows: Rows::Each,
        requirements: 0,
        offsets: &[0],
        margin: 2,
        max_forward_step: None,
        passes: &[],
        rushes: &[],
        switches: 0,
        steps: Steps::Few,
        administrations: 0,
        floors: &[],
        confirmations: &[],
        observed: &[],
        max_observed_lead: 0,
        failures: 0,
        changes: 0,
        restores: 0,
    }
}

/// More IDs and more of the clock, on one server that does not crash.
pub fn clock_only(design: Design) -> Bounds {
    Bounds {
        limits: Limits { max_burst: Some(Span(2)), ..HOLDING },
        last_sequence: 0,
        ids: 5,
        clock_moves: 3,
        moves: &[1, 2, -3],
        crashes: 0,
        checkpoints: 0,
        standbys: 0,
        ..everything(design)
    }
}

/// Requests that find a millisecond used up take IDs of the next one, and sleep, or find these used
/// up, too.
pub fn queue(design: Design) -> Bounds {
    Bounds {
        limits: Limits { max_queue: Span(1), ..HOLDING },
        moves: &[1, -3],
        passes: &[1, 3],
        ..clock_only(design)
    }
}

/// The same with a longer queue, a burst, reuse, and IDs that are observed.
pub fn queue_beside_all(design: Design) -> Bounds {
    Bounds {
        limits: Limits {
            max_queue: Span(2),
            max_burst: Some(Span(1)),
            reuse_window: Span(3),
            ..HOLDING
        },
        last_sequence: 1,
        ids: 3,
        clock_moves: 2,
        moves: &[1, -2],
        passes: &[],
        administrations: 1,
        observed: &[1, 3],
        max_observed_lead: 10,
        ..queue(design)
    }
}

/// The same with a crash while sessions sleep.
pub fn queue_and_crash(design: Design) -> Bounds {
    Bounds { ids: 3, clock_moves: 2, moves: &[-3], passes: &[1], crashes: 1, ..queue(design) }
}

/// Jumps ahead, time that passes, confirmations and crashes.
pub fn jumps(design: Design) -> Bounds {
    const LIMIT: i64 = 10 * RESERVATION;
    Bounds {
        ids: 2,
        moves: &[2 * LIMIT, -2 * LIMIT],
        checkpoints: 0,
        standbys: 0,
        max_forward_step: Some(LIMIT),
        passes: &[3 * LIMIT],
        administrations: 1,
        confirmations: &[Request::ConfirmClock],
        ..everything(design)
    }
}

/// Two failovers in quick succession, the second one to a standby that might know of the first.
pub fn failovers(design: Design) -> Bounds {
    Bounds {
        last_sequence: 0,
        reservations: 2,
        moves: &[1, -2 * RESERVATION],
        crashes: 2,
        checkpoints: 0,
        standbys: 2,
        ..everything(design)
    }
}

/// Two standbys, each of which may be the one that commits wait for, and IDs that are taken without
/// rows.
pub fn synchronous(design: Design) -> Bounds {
    Bounds {
        ids: 3,
        reservations: 2,
        clock_moves: 1,
        moves: &[-4 * RESERVATION],
        crashes: 1,
        rows: Rows::None,
        requirements: 2,
        margin: 0,
        ..failovers(design)
    }
}

/// A standby that lags, while IDs that are ahead of the clock are taken as fast as there are any.
pub fn lags(design: Design) -> Bounds {
    Bounds {
        ids: 2,
        reservations: u8::MAX,
        clock_moves: 6,
        moves: &[-600_000],
        passes: &[14_000],
        rushes: &[900, 2000],
        crashes: 1,
        standbys: 1,
        rows: Rows::Lost,
        margin: 0,
        ..failovers(design)
    }
}

/// The same where IDs are not ahead, and an ID is observed whose server is, at any time of the lag.
pub fn observed_in_the_lag(design: Design) -> Bounds {
    Bounds {
        clock_moves: 5,
        moves: &[],
        margin: 900,
        administrations: 1,
        observed: &[5 * RESERVATION],
        max_observed_lead: 5 * RESERVATION,
        ..lags(design)
    }
}

/// Promotions on machines whose clocks are on both sides of the limit, and what their workers
/// reserve.
pub fn promotions(design: Design) -> Bounds {
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
        administrations: 1,
        confirmations: &[Request::ConfirmClock, Request::Promoted],
        ..failovers(design)
    }
}

/// Small steps back after which unused IDs are issued, and a crash.
pub fn reuse(design: Design) -> Bounds {
    Bounds {
        limits: Limits { reuse_window: Span(3), ..HOLDING },
        last_sequence: 1,
        ids: 3,
        reservations: 2,
        moves: &[2, -1],
        crashes: 1,
        switches: 1,
        ..clock_only(design)
    }
}

/// Whatever an administrator and other servers do, and whatever fails, between any two effects.
pub fn interrupted(design: Design) -> Bounds {
    Bounds {
        ids: 2,
        reservations: 2,
        clock_moves: 1,
        moves: &[-2 * RESERVATION],
        checkpoints: 0,
        standbys: 0,
        steps: Steps::Each,
        administrations: 1,
        floors: &[(RESERVATION / 2, false), (-RESERVATION, false), (-RESERVATION, true)],
        observed: &[RESERVATION / 2, 2 * RESERVATION],
        max_observed_lead: 2 * RESERVATION,
        failures: 1,
        ..everything(design)
    }
}

/// A clock that jumps, is confirmed or is not, and floors that are set meanwhile.
pub fn refused(design: Design) -> Bounds {
    const LIMIT: i64 = 10 * RESERVATION;
    Bounds {
        clock_moves: 1,
        moves: &[2 * LIMIT],
        max_forward_step: Some(LIMIT),
        administrations: 2,
        floors: &[(RESERVATION / 2, false), (-2 * LIMIT, true)],
        confirmations: &[Request::ConfirmClock],
        observed: &[],
        failures: 0,
        ..interrupted(design)
    }
}

/// A clock that jumps and is confirmed, and whatever fails meanwhile.
pub fn confirmed(design: Design) -> Bounds {
    Bounds { administrations: 1, floors: &[], failures: 1, ..refused(design) }
}

/// Another layout, another system, and a floor.
pub fn changes(design: Design) -> Bounds {
    Bounds {
        clock_moves: 1,
        moves: &[-2 * RESERVATION],
        administrations: 2,
        floors: &[(RESERVATION / 2, false)],
        confirmations: &[
            Request::ConfirmLayout,
            Request::ConfirmSystemIdentifier { force: true, has_identity: true },
        ],
        observed: &[],
        changes: 1,
        ..interrupted(design)
    }
}

/// A restore, which the administrator notes, or to which he sees.
pub fn restored(design: Design) -> Bounds {
    Bounds {
        last_sequence: 0,
        moves: &[2 * RESERVATION],
        crashes: 2,
        floors: &[(RESERVATION / 2, false)],
        confirmations: &[Request::NoteCopy],
        observed: &[],
        failures: 0,
        restores: 1,
        ..interrupted(design)
    }
}

/// An ID of a server whose clock is further ahead than a reservation reaches, and failovers.
pub fn observed(design: Design) -> Bounds {
    Bounds {
        ids: 2,
        reservations: 2,
        clock_moves: 1,
        moves: &[-3 * RESERVATION],
        crashes: 2,
        checkpoints: 0,
        administrations: 1,
        observed: &[2 * RESERVATION],
        max_observed_lead: 3 * RESERVATION,
        ..everything(design)
    }
}

/// An ID of a server whose clock is beside this one's, and unused IDs after a small step back.
pub fn observed_with_reuse(design: Design) -> Bounds {
    Bounds {
        ids: 2,
        clock_moves: 2,
        crashes: 0,
        switches: 0,
        administrations: 1,
        observed: &[1, -1],
        max_observed_lead: 10,
        ..reuse(design)
    }
}
