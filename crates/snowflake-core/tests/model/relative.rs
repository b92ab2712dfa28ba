//! Equality of states in the models: times count from now, and positions in the WAL by whether they
//! are durable. Worlds that are the same but for when they are, or for how much they have written,
//! go on in the same way, and one of them is enough.

use std::hash::Hasher;

use snowflake_core::promise::Position;
use snowflake_core::time::Timestamp;

/// Where wall clocks, boot clocks and positions begin. No other number of these types that is in a
/// state is near to one of them.
pub const START: Timestamp = Timestamp(1_800_000_000_000);
pub const BOOT: i64 = 1_000_000_000_000;
const WAL: Position = 1 << 40;
/// The largest distance of a clock or a position from its beginning.
const NEAR: u64 = 10_000_000_000;

/// The position behind so many entries of the WAL.
pub fn position(entries: usize) -> Position {
    WAL + entries as Position
}

/// A hasher that passes on to another one, with each time as if it was `START` now.
pub struct Relative<H> {
    pub hasher: H,
    /// The clocks.
    pub wall: Timestamp,
    pub boot: i64,
    /// The end of the durable WAL.
    pub durable: Position,
}

impl<H: Hasher> Hasher for Relative<H> {
    fn finish(&self) -> u64 {
        self.hasher.finish()
    }

    fn write(&mut self, bytes: &[u8]) {
        self.hasher.write(bytes);
    }

    fn write_u8(&mut self, number: u8) {
        self.hasher.write_u8(number);
    }

    fn write_u32(&mut self, number: u32) {
        self.hasher.write_u32(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.hasher.write_usize(number);
    }

    fn write_isize(&mut self, number: isize) {
        self.hasher.write_isize(number);
    }

    fn write_i64(&mut self, number: i64) {
        let now = [(START.0, self.wall.0), (BOOT, self.boot)];
        let is_near = |start: &(i64, i64)| number.abs_diff(start.0) < NEAR;
        let by = now.into_iter().find(is_near).map_or(0, |(start, now)| start - now);
        self.hasher.write_i64(number + by);
    }

    fn write_u64(&mut self, number: u64) {
        let is_position = number.abs_diff(WAL) < NEAR;
        let number = if is_position { WAL + u64::from(number > self.durable) } else { number };
        self.hasher.write_u64(number);
    }
}
