//! Defaults of settings, in milliseconds, for the server and for what is tested without one.

use crate::generator::Limits;

const DAY: i64 = 86_400_000;

/// The largest lead of the queue, in milliseconds: of sessions that found a millisecond used up. Each
/// has one ID in it, so that with the default layout, 4,096 sessions fill a millisecond.
pub const MAX_QUEUE: i64 = 8;

/// Those of `snowflake.max_burst`, `reuse_window`, `max_backward_step` and `max_wait`, and the queue's.
pub const LIMITS: Limits = Limits {
    max_burst: 0,
    reuse_window: 0,
    max_backward_step: DAY,
    max_wait: 1000,
    max_queue: MAX_QUEUE,
};

/// That of `snowflake.max_forward_step`.
pub const MAX_FORWARD_STEP: i64 = DAY;

/// That of `snowflake.failover_margin`.
pub const FAILOVER_MARGIN: i64 = 5000;

/// The time between two looks of a standby's worker at the clock of the upstream; no setting.
pub const LOOK: i64 = 200;
