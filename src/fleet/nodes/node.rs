//! A node: a server, by the name under which it has an identity.

use crate::pg::report::{self, ErrorReport};
use crate::pg::time::display_timestamptz;
use pgrx::datum::TimestampWithTimeZone;

/// A node that has an identity.
#[derive(Debug)]
pub struct Node {
    /// The datacenter ID.
    pub datacenter_id: i32,
    /// The worker ID.
    pub worker_id: i32,
    /// When it was given its identity.
    pub claimed_at: TimestampWithTimeZone,
    /// In the form of `snowflake.start_after`.
    pub start_after: Option<String>,
}

impl Node {
    /// The notice for a node that claims its identity again.
    pub fn notice(&self, name: &str) -> ErrorReport {
        let since = display_timestamptz(self.claimed_at.into_inner());
        report::message(format!("node \"{name}\" has had this identity since {since}")).set_hint(
            "If two servers have this name, both issue the same IDs. If this server has lost its \
             data, release the identity before you claim it again.",
        )
    }

    /// Returns the lines of the node for `postgresql.conf`.
    pub fn fragment(&self, name: &str) -> String {
        let Node { datacenter_id, worker_id, start_after, .. } = self;
        let mut lines = vec![
            format!("# node {name}"),
            format!("snowflake.datacenter_id = {datacenter_id}"),
            format!("snowflake.worker_id = {worker_id}"),
        ];
        lines.extend(start_after.iter().map(|time| format!("snowflake.start_after = '{time}'")));
        lines.join("\n")
    }
}
