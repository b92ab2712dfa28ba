//! Widths and epoch of an ID: compose and decompose.
//!
//! ```text
//! bit 63    62 ............. 22  21 .. 17    16 .. 12  11 .. 0
//! 0 (sign)  timestamp, ms        datacenter  worker    sequence      (the default widths)
//! ```
//!
//! ```
//! use snowflake_core::layout::{Layout, Parts};
//! use snowflake_core::time::Timestamp;
//!
//! let parts = Layout::TWITTER.decompose(1268118639732232192).unwrap();
//! let timestamp = Timestamp(1591178018874);
//! assert_eq!(parts, Parts { timestamp, datacenter_id: 5, worker_id: 9, sequence: 0 });
//! assert_eq!(Layout::TWITTER.compose(parts), Ok(1268118639732232192));
//! ```

use std::ops::RangeInclusive;

use crate::time::{Span, Timestamp};

/// Twitter's epoch, 2010-11-04 01:42:54.657 UTC.
pub const TWITTER_EPOCH: Timestamp = Timestamp(1_288_834_974_657);

/// Valid epochs: from 1970 to the year 6429, which keeps
/// every timestamp of every layout within what PostgreSQL's `timestamptz` can hold.
pub const EPOCH_RANGE: RangeInclusive<Timestamp> = Timestamp(0)..=Timestamp((1 << 47) - 1);

/// Valid sums of the datacenter, worker and sequence widths, in bits. What they leave of 63 bits is
/// the timestamp's: 39 bits are 17 years of milliseconds, 53 bits are 285,000 years.
pub const SUM_RANGE: RangeInclusive<u32> = 10..=24;

/// Bits of an ID that are not its sign.
const ID_BITS: u32 = 63;

/// The widths of the parts of an ID below the timestamp, in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Widths {
    /// Bits for the datacenter ID; may be 0.
    pub datacenter: u32,
    /// Bits for the worker ID; may be 0.
    pub worker: u32,
    /// Bits for the sequence within a millisecond; at least 1.
    pub sequence: u32,
}

/// The parts of an ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parts {
    /// The millisecond.
    pub timestamp: Timestamp,
    /// Which datacenter.
    pub datacenter_id: u32,
    /// Which worker of the datacenter.
    pub worker_id: u32,
    /// Which ID of the worker's millisecond.
    pub sequence: u32,
}

/// A valid choice of widths and epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    epoch: Timestamp,
    widths: Widths,
}

/// The IDs of one datacenter and worker under a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ids {
    epoch: Timestamp,
    shift: u32,
    node: i64,
}

impl Ids {
    /// The ID of that millisecond and sequence, which are within their fields.
    #[inline(always)]
    pub fn compose(&self, timestamp: Timestamp, sequence: u32) -> i64 {
        ((timestamp - self.epoch).0 << self.shift) | self.node | i64::from(sequence)
    }
}

/// Reasons for which widths and epoch are not a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// The sequence has no bit.
    #[error("the sequence needs at least 1 bit")]
    NoSequence,
    /// The widths leave the timestamp too few bits, or more than a timestamp can use.
    #[error(
        "the datacenter, worker and sequence widths add up to {sum} bits; the valid range is {} \
         to {}",
        SUM_RANGE.start(),
        SUM_RANGE.end()
    )]
    Sum {
        /// The sum of the three widths, in bits.
        sum: u64,
    },
    /// The epoch is outside of [`EPOCH_RANGE`].
    #[error("the epoch is not from 1970-01-01 00:00:00+00 to 6429-10-17 02:45:55.327+00")]
    Epoch {
        /// The epoch.
        epoch: Timestamp,
    },
}

/// Reasons for which parts do not make an ID, or a number is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartsError {
    /// The number is negative; no ID is.
    #[error("{0} is negative")]
    Negative(i64),
    /// The timestamp is outside of the field.
    #[error("the timestamp {0} is outside of the timestamp field")]
    Timestamp(Timestamp),
    /// The datacenter ID does not fit.
    #[error("the datacenter ID {0} does not fit its field")]
    Datacenter(u32),
    /// The worker ID does not fit.
    #[error("the worker ID {0} does not fit its field")]
    Worker(u32),
    /// The sequence does not fit.
    #[error("the sequence {0} does not fit its field")]
    Sequence(u32),
}

impl Layout {
    /// Twitter's layout: 41 + 5 + 5 + 12 bits, good from 2010-11-04 to 2080-07-10.
    pub const TWITTER: Layout =
        Layout { epoch: TWITTER_EPOCH, widths: Widths { datacenter: 5, worker: 5, sequence: 12 } };

    /// A layout of these widths that counts from `epoch`.
    pub fn new(epoch: Timestamp, widths: Widths) -> Result<Layout, LayoutError> {
        if widths.sequence == 0 {
            return Err(LayoutError::NoSequence);
        }
        let sum =
            u64::from(widths.datacenter) + u64::from(widths.worker) + u64::from(widths.sequence);
        if !(u64::from(*SUM_RANGE.start())..=u64::from(*SUM_RANGE.end())).contains(&sum) {
            return Err(LayoutError::Sum { sum });
        }
        if !EPOCH_RANGE.contains(&epoch) {
            return Err(LayoutError::Epoch { epoch });
        }
        Ok(Layout { epoch, widths })
    }

    /// The instant that timestamps count from.
    pub fn epoch(&self) -> Timestamp {
        self.epoch
    }

    /// The widths of the parts below the timestamp.
    pub const fn widths(&self) -> Widths {
        self.widths
    }

    /// Bits for the timestamp.
    pub fn timestamp_bits(&self) -> u32 {
        ID_BITS - self.timestamp_shift()
    }

    /// Bits below the timestamp.
    pub fn timestamp_shift(&self) -> u32 {
        self.widths.datacenter + self.widths.worker + self.widths.sequence
    }

    /// The last timestamp that fits.
    pub fn last_timestamp(&self) -> Timestamp {
        self.epoch + Span(ones(self.timestamp_bits()))
    }

    /// The largest datacenter ID.
    pub fn last_datacenter_id(&self) -> u32 {
        ones(self.widths.datacenter) as u32
    }

    /// The largest worker ID.
    pub fn last_worker_id(&self) -> u32 {
        ones(self.widths.worker) as u32
    }

    /// The largest sequence.
    pub const fn last_sequence(&self) -> u32 {
        ones(self.widths.sequence) as u32
    }

    /// The widths that hold this datacenter and this worker ID with the smallest change: the worker
    /// takes bits that the datacenter does not need, then bits of the sequence. IDs of the new
    /// layout follow those of this one, unless even this is not enough. `None` where no widths hold
    /// both.
    pub fn widths_with_worker(&self, datacenter_id: u32, worker_id: u32) -> Option<Widths> {
        let bits = |number: u32| u32::BITS - number.leading_zeros();
        let worker = self.widths.worker.max(bits(worker_id));
        let left = self.timestamp_shift().saturating_sub(worker);
        let spare = left.saturating_sub(self.widths.sequence);
        let datacenter = self.widths.datacenter.min(spare).max(bits(datacenter_id));
        let sequence = left.saturating_sub(datacenter).clamp(1, self.widths.sequence);
        let widths = Widths { datacenter, worker, sequence };
        Layout::new(self.epoch, widths).is_ok().then_some(widths)
    }

    /// The ID that these parts make.
    pub fn compose(&self, parts: Parts) -> Result<i64, PartsError> {
        if !(self.epoch..=self.last_timestamp()).contains(&parts.timestamp) {
            return Err(PartsError::Timestamp(parts.timestamp));
        }
        let ids = self.ids(parts.datacenter_id, parts.worker_id)?;
        if parts.sequence > self.last_sequence() {
            return Err(PartsError::Sequence(parts.sequence));
        }
        Ok(ids.compose(parts.timestamp, parts.sequence))
    }

    /// The smallest ID of that millisecond, of any datacenter and worker.
    pub fn first_id(&self, timestamp: Timestamp) -> Result<i64, PartsError> {
        self.compose(Parts { timestamp, datacenter_id: 0, worker_id: 0, sequence: 0 })
    }

    /// The largest ID of that millisecond, of any datacenter and worker.
    pub fn last_id(&self, timestamp: Timestamp) -> Result<i64, PartsError> {
        Ok(self.first_id(timestamp)? | ones(self.timestamp_shift()))
    }

    /// The IDs of one datacenter and worker.
    pub fn ids(&self, datacenter_id: u32, worker_id: u32) -> Result<Ids, PartsError> {
        if datacenter_id > self.last_datacenter_id() {
            return Err(PartsError::Datacenter(datacenter_id));
        }
        if worker_id > self.last_worker_id() {
            return Err(PartsError::Worker(worker_id));
        }
        let worker_shift = self.widths.sequence;
        let datacenter_shift = worker_shift + self.widths.worker;
        let node =
            (i64::from(datacenter_id) << datacenter_shift) | (i64::from(worker_id) << worker_shift);
        Ok(Ids { epoch: self.epoch, shift: self.timestamp_shift(), node })
    }

    /// The parts that make up this ID.
    pub fn decompose(&self, id: i64) -> Result<Parts, PartsError> {
        if id < 0 {
            return Err(PartsError::Negative(id));
        }
        let Widths { datacenter, worker, sequence } = self.widths;
        Ok(Parts {
            timestamp: self.epoch + Span(id >> self.timestamp_shift()),
            datacenter_id: ((id >> (sequence + worker)) & ones(datacenter)) as u32,
            worker_id: ((id >> sequence) & ones(worker)) as u32,
            sequence: (id & ones(sequence)) as u32,
        })
    }
}

/// The number whose lowest `bits` bits are set; `bits` is at most 62.
const fn ones(bits: u32) -> i64 {
    (1 << bits) - 1
}
