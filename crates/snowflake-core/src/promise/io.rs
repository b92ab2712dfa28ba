//! The effects of a turn.

use super::request::{Found, Refusal};
use crate::generator::Generator;
use crate::jump::Clocks;
use crate::register::Record;
use crate::time::Timestamp;

/// A position in the WAL.
pub type Position = u64;

/// The clocks, the generator, the register and the WAL, as a session reaches them while it has the
/// lock. After an error, or a panic, it is not known whether the effect was done.
pub trait Io {
    /// The reason for which a turn ends before its time: an effect has failed, or the request is
    /// refused.
    type Error: From<Refusal>;

    /// Reads the clocks.
    fn clocks(&mut self) -> Result<Clocks, Self::Error>;

    /// Looks at the generator, which is under another lock.
    fn look(&mut self) -> Result<Generator, Self::Error>;

    /// The same, and lets it issue nothing above its present timestamp from then on.
    fn freeze(&mut self) -> Result<Generator, Self::Error>;

    /// Publishes a floor that is durable: [`Generator::raise_floor`].
    fn raise(&mut self, floor: Timestamp, reserve_after: Timestamp) -> Result<(), Self::Error>;

    /// Puts this generator in the place of the present one.
    fn restart(&mut self, generator: Generator) -> Result<(), Self::Error>;

    /// Reads the register.
    fn read(&mut self) -> Result<Found, Self::Error>;

    /// Creates the register with this record, durably once its entry is: [`Io::sync_entry`].
    fn create(&mut self, record: Record) -> Result<(), Self::Error>;

    /// Lets the register hold this record, durably, whatever it holds or whether it exists.
    fn overwrite(&mut self, record: Record) -> Result<(), Self::Error>;

    /// Writes this record. It is durable when the WAL is, up to the position that is returned.
    fn write(&mut self, record: Record) -> Result<Position, Self::Error>;

    /// Flushes the WAL up to here.
    fn flush(&mut self, position: Position) -> Result<(), Self::Error>;

    /// Lets the WAL be flushed up to here soon.
    fn flush_soon(&mut self, position: Position) -> Result<(), Self::Error>;

    /// Returns up to where the WAL is durable.
    fn flushed(&mut self) -> Result<Position, Self::Error>;

    /// Makes the register's entry in its directory durable.
    fn sync_entry(&mut self) -> Result<(), Self::Error>;
}
