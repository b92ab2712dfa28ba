//! A layout as messages and the table `snowflake_layout` name it.

use std::fmt;

use crate::pg::time::{display_timestamptz, raw_timestamptz};
use pgrx::pg_sys;
use snowflake_core::layout::Layout;

/// Epoch and widths. They need not be a valid layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedLayout {
    /// As PostgreSQL counts.
    pub epoch: pg_sys::TimestampTz,
    /// Of datacenter, worker and sequence.
    pub widths: [i32; 3],
}

impl From<Layout> for NamedLayout {
    fn from(layout: Layout) -> NamedLayout {
        let widths = layout.widths();
        let widths = [widths.datacenter, widths.worker, widths.sequence].map(|bits| bits as i32);
        NamedLayout { epoch: raw_timestamptz(layout.epoch()), widths }
    }
}

impl fmt::Display for NamedLayout {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let [datacenter, worker, sequence] = self.widths;
        write!(
            formatter,
            "epoch {}, widths {datacenter}, {worker} and {sequence} bits",
            display_timestamptz(self.epoch)
        )
    }
}
