//! The durable record, and its bytes.
//!
//! A record promises that no ID above its time has been issued. A server that starts from it begins
//! above that time. This alone makes IDs unique across restarts, crashes and failovers.

use crate::jump::{BootClock, Clocks};
use crate::layout::{Layout, LayoutError, PartsError, Widths};
use crate::time::{Span, Timestamp};

/// The first bytes of every record, of whatever version.
pub const MAGIC: [u8; 8] = *b"snowflk1";

/// The version that this code writes and reads. No release wrote a lower one.
pub const VERSION: u32 = 2;

/// The largest number of bytes of a record.
pub const LENGTH: usize = LENGTH_CONFIRMED + 32;

/// The number of bytes of a record that says nothing of a copy: all that release 0.4.0 reads, and
/// writes before zeros.
const LENGTH_CONFIRMED: usize = 124;

/// The number of bytes of a record that has no confirmed layout. The rest are zeros.
const LENGTH_UNCONFIRMED: usize = 112;

/// The timeline of a record that belongs to none, so that the next start adds a margin.
pub const NO_TIMELINE: u32 = 0;

/// The promise, and the server that it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// The cluster's system identifier.
    pub system_identifier: u64,
    /// The timeline that the record was written on.
    pub timeline: u32,
    /// No timestamp above this one has been issued.
    pub floor: Timestamp,
    /// The clocks when the record was written.
    pub written: Clocks,
    /// The layout of the IDs that were issued.
    pub layout: Layout,
    /// A layout that was confirmed, and under which no ID has been issued: later ones may be of it,
    /// or of the present layout.
    pub confirmed: Option<Layout>,
    /// Who wrote it.
    pub writer: Writer,
    /// The original of this server, if it, or one that it was made of, was restored from a copy,
    /// and no floor was set since.
    pub copy_of: Option<Writer>,
}

/// The server that wrote a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Writer {
    /// The datacenter ID.
    pub datacenter_id: u32,
    /// The worker ID.
    pub worker_id: u32,
    /// The machine that it ran on; 0 where that is not known.
    pub machine: u128,
}

impl Writer {
    /// Returns whether both issue the same IDs.
    pub fn has_identity_of(&self, other: &Writer) -> bool {
        (self.datacenter_id, self.worker_id) == (other.datacenter_id, other.worker_id)
    }

    fn bytes(&self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[..4].copy_from_slice(&self.datacenter_id.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.worker_id.to_le_bytes());
        bytes[8..].copy_from_slice(&self.machine.to_le_bytes());
        bytes
    }
}

/// Reasons for which bytes are not a record that can be started from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum RecordError {
    /// Zeros, another file's content, or a record with a bit flipped.
    #[error("it does not hold a valid record")]
    Damaged,
    /// A later release wrote it.
    #[error("its record has version {0}, and this release reads version {VERSION}")]
    NewerVersion(u32),
    /// A development version wrote it, and no release did.
    #[error(
        "its record has version {0}, which only development versions wrote, and this release \
         reads version {VERSION}"
    )]
    OlderVersion(u32),
}

impl Record {
    /// The highest ID that the record permits, of any datacenter and worker.
    pub fn highest_id(&self) -> Result<i64, PartsError> {
        self.layout.last_id(self.floor)
    }

    /// Returns whether a server with this layout may continue from the record.
    pub fn accepts(&self, layout: Layout) -> bool {
        self.layout == layout || self.confirmed == Some(layout)
    }

    /// The layout that is in the way of this one: that of the IDs that were issued or, where this
    /// is the same, the confirmed one.
    pub fn other_than(&self, layout: Layout) -> Layout {
        self.confirmed.filter(|_| self.layout == layout).unwrap_or(self.layout)
    }

    /// The record's bytes. A record with a confirmed layout is longer, so its checksum is at
    /// another place. What is said of a copy follows, with a checksum of everything.
    pub fn encode(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.timeline.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.system_identifier.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.floor.0.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.highest_id().unwrap_or(-1).to_le_bytes());
        bytes[40..51].copy_from_slice(&bytes_of(self.layout));
        bytes[51] = self.confirmed.is_some().into();
        bytes[52..60].copy_from_slice(&self.written.wall.0.to_le_bytes());
        bytes[60..76].copy_from_slice(&self.written.boot.boot.to_le_bytes());
        bytes[76..84].copy_from_slice(&self.written.boot.elapsed.0.to_le_bytes());
        bytes[84..108].copy_from_slice(&self.writer.bytes());
        let mut length = LENGTH_UNCONFIRMED;
        if let Some(layout) = self.confirmed {
            length = LENGTH_CONFIRMED;
            bytes[108..119].copy_from_slice(&bytes_of(layout));
        }
        put_checksum(&mut bytes[..length]);
        if let Some(original) = self.copy_of {
            bytes[124] = 1;
            bytes[128..152].copy_from_slice(&original.bytes());
            put_checksum(&mut bytes);
        }
        bytes
    }

    /// The record that these bytes hold.
    pub fn decode(bytes: &[u8; LENGTH]) -> Result<Record, RecordError> {
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        if bytes[0..8] != MAGIC {
            return Err(RecordError::Damaged);
        }
        // Another version might have another length, and its checksum elsewhere: all that is known
        // of it is its number.
        let version = u32_at(8);
        if version > VERSION {
            return Err(RecordError::NewerVersion(version));
        }
        if version < VERSION {
            return Err(RecordError::OlderVersion(version));
        }
        let layout = layout_in(&bytes[40..51])?;
        let confirmed = if bytes[51] == 0 { None } else { Some(layout_in(&bytes[108..119])?) };
        let u128_at =
            |at: usize| u128::from_le_bytes(bytes[at..at + 16].try_into().expect("16 bytes"));
        let boot = BootClock { boot: u128_at(60), elapsed: Span(u64_at(76) as i64) };
        let writer_at = |at: usize| Writer {
            datacenter_id: u32_at(at),
            worker_id: u32_at(at + 4),
            machine: u128_at(at + 8),
        };
        let record = Record {
            system_identifier: u64_at(16),
            timeline: u32_at(12),
            floor: Timestamp(u64_at(24) as i64),
            written: Clocks { wall: Timestamp(u64_at(52) as i64), boot },
            layout,
            confirmed,
            writer: writer_at(84),
            copy_of: (bytes[124] != 0).then(|| writer_at(128)),
        };
        // Encoding the record again checks the checksum, and that no other byte is different.
        if record.encode() == *bytes { Ok(record) } else { Err(RecordError::Damaged) }
    }
}

/// Lets the last four bytes be a checksum of those before them.
fn put_checksum(bytes: &mut [u8]) {
    let (content, checksum) = bytes.split_at_mut(bytes.len() - 4);
    checksum.copy_from_slice(&crc32fast::hash(content).to_le_bytes());
}

/// Epoch and widths.
fn bytes_of(layout: Layout) -> [u8; 11] {
    let mut bytes = [0; 11];
    let Widths { datacenter, worker, sequence } = layout.widths();
    bytes[..8].copy_from_slice(&layout.epoch().0.to_le_bytes());
    bytes[8..].copy_from_slice(&[datacenter, worker, sequence].map(|bits| bits as u8));
    bytes
}

/// The layout that [`bytes_of`] has made these bytes of.
fn layout_in(bytes: &[u8]) -> Result<Layout, RecordError> {
    let epoch = i64::from_le_bytes(bytes[..8].try_into().expect("8 bytes"));
    let [datacenter, worker, sequence] = [8, 9, 10].map(|at| bytes[at].into());
    Layout::new(Timestamp(epoch), Widths { datacenter, worker, sequence })
        .map_err(|_: LayoutError| RecordError::Damaged)
}
