//! The durable record: its bytes, and what a start may begin from.
//!
//! A record promises that no ID above its time has been issued. Whoever starts from it begins above
//! that time, and that is all that makes IDs unique across restarts, crashes and failovers.

use crate::generator::RESERVATION;
use crate::jump::{BootClock, Clocks};
use crate::layout::{Layout, LayoutError, PartsError, Widths};

/// The first bytes of every record, of whatever version.
pub const MAGIC: [u8; 8] = *b"snowflk1";

/// The version that this code writes, and the highest that it reads. Version 2 added the boot
/// clock.
pub const VERSION: u32 = 2;

/// How many bytes a record takes.
pub const LENGTH: usize = 88;

/// How many bytes a record of version 1 takes.
pub const LENGTH_OF_VERSION_1: usize = 64;

/// What is promised, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// The cluster's system identifier.
    pub system_identifier: u64,
    /// The timeline that the record was written on.
    pub timeline: u32,
    /// No timestamp above this one has been issued, in milliseconds since the Unix epoch.
    pub floor: i64,
    /// The clocks when the record was written.
    pub written: Clocks,
    /// What the IDs look like.
    pub layout: Layout,
}

/// Why bytes are not a record that can be started from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// Zeros, another file's content, or a record with a bit flipped.
    #[error("it does not hold a valid record")]
    Damaged,
    /// A later release wrote it.
    #[error("its record has version {0}, and this release reads up to {VERSION}")]
    NewerVersion(u32),
}

impl Record {
    /// The highest ID that the record permits, of any datacenter and worker.
    pub fn highest_id(&self) -> Result<i64, PartsError> {
        self.layout.last_id(self.floor)
    }

    /// The record's bytes.
    pub fn encode(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        self.encode_common(&mut bytes, VERSION);
        if let Some(BootClock { boot, elapsed }) = self.written.boot {
            bytes[60..76].copy_from_slice(&boot.to_le_bytes());
            bytes[76..84].copy_from_slice(&elapsed.to_le_bytes());
        }
        seal(&mut bytes);
        bytes
    }

    fn encode_version_1(&self) -> [u8; LENGTH_OF_VERSION_1] {
        let mut bytes = [0; LENGTH_OF_VERSION_1];
        self.encode_common(&mut bytes, 1);
        seal(&mut bytes);
        bytes
    }

    /// What all versions have, in the same place.
    fn encode_common(&self, bytes: &mut [u8], version: u32) {
        let widths = self.layout.widths();
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&version.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.timeline.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.system_identifier.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.floor.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.highest_id().unwrap_or(-1).to_le_bytes());
        bytes[40..48].copy_from_slice(&self.layout.epoch().to_le_bytes());
        bytes[48] = widths.datacenter as u8;
        bytes[49] = widths.worker as u8;
        bytes[50] = widths.sequence as u8;
        bytes[52..60].copy_from_slice(&self.written.wall.to_le_bytes());
    }

    /// The record that these bytes hold.
    pub fn decode(bytes: &[u8; LENGTH]) -> Result<Record, RecordError> {
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        if bytes[0..8] != MAGIC {
            return Err(RecordError::Damaged);
        }
        // A later version may be longer, with its checksum elsewhere: all that is known of it is
        // its number.
        let version = u32_at(8);
        if version > VERSION {
            return Err(RecordError::NewerVersion(version));
        }
        let widths = Widths {
            datacenter: bytes[48].into(),
            worker: bytes[49].into(),
            sequence: bytes[50].into(),
        };
        let layout = Layout::new(u64_at(40) as i64, widths)
            .map_err(|_: LayoutError| RecordError::Damaged)?;
        let boot = u128::from_le_bytes(bytes[60..76].try_into().expect("16 bytes"));
        let boot =
            (version > 1 && boot != 0).then(|| BootClock { boot, elapsed: u64_at(76) as i64 });
        let record = Record {
            system_identifier: u64_at(16),
            timeline: u32_at(12),
            floor: u64_at(24) as i64,
            written: Clocks { wall: u64_at(52) as i64, boot },
            layout,
        };
        // The checksum, and that every byte means what it says.
        let is_whole = match version {
            1 => record.encode_version_1() == bytes[..LENGTH_OF_VERSION_1],
            _ => record.encode() == *bytes,
        };
        if is_whole { Ok(record) } else { Err(RecordError::Damaged) }
    }
}

/// Puts the checksum behind the rest.
fn seal(bytes: &mut [u8]) {
    let (rest, checksum) = bytes.split_at_mut(bytes.len() - 4);
    checksum.copy_from_slice(&crc32fast::hash(rest).to_le_bytes());
}

/// What a start begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Start {
    /// Everything up to this timestamp is used up.
    pub after: i64,
    /// The part of its lead over the clock that the start itself explains.
    pub hold: i64,
}

/// The server that starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Server {
    /// Its system identifier.
    pub system_identifier: u64,
    /// The timeline that it writes on.
    pub timeline: u32,
    /// The layout that it is configured with.
    pub layout: Layout,
    /// `snowflake.failover_margin`, in milliseconds.
    pub failover_margin: i64,
}

/// Why a server must not start from a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StartError {
    /// The record is another system's.
    SystemIdentifier {
        /// The record's.
        recorded: u64,
    },
    /// The record was written under another layout.
    Layout {
        /// The record's.
        recorded: Layout,
    },
}

impl Server {
    /// What this server may begin with, given the record and the clock.
    pub fn start(&self, record: &Record, now: i64) -> Result<Start, StartError> {
        if record.system_identifier != self.system_identifier {
            return Err(StartError::SystemIdentifier { recorded: record.system_identifier });
        }
        if record.layout != self.layout {
            return Err(StartError::Layout { recorded: record.layout });
        }
        let margin = if record.timeline == self.timeline { 0 } else { self.failover_margin };
        let after = record.floor + margin;
        // The lead that the record had when it was written needs no explanation: a clock that has
        // not been set back since has only made up for some of it.
        let explained = record.floor.saturating_sub(record.written.wall).saturating_add(margin);
        Ok(Start { after, hold: (after - now).min(explained).max(0) })
    }

    /// The record of this floor on this server; `now` is what the clocks say.
    pub fn record(&self, floor: i64, now: Clocks) -> Record {
        Record {
            system_identifier: self.system_identifier,
            timeline: self.timeline,
            floor: floor.min(self.layout.last_timestamp()),
            written: now,
            layout: self.layout,
        }
    }

    /// The record that makes `timestamp` available, and some more than the present `floor` does: a
    /// record never takes back what an earlier one has promised. It goes a reservation ahead of the
    /// clock; where timestamps are that far ahead already, it adds little, so that crash after
    /// crash does not drive them away.
    pub fn reservation(&self, timestamp: i64, floor: i64, now: Clocks) -> Record {
        self.record((now.wall + RESERVATION).max(timestamp.max(floor) + RESERVATION / 8), now)
    }

    /// Whether every ID of this server's layout that begins after the record is above every ID that
    /// the record permits: only then a change of layout keeps IDs unique and increasing.
    pub fn may_change_layout(&self, record: &Record) -> bool {
        let Ok(highest) = record.highest_id() else { return false };
        self.layout.first_id(record.floor + 1).is_ok_and(|lowest| lowest > highest)
    }
}
