//! Defaults of settings, for the server and for what is tested without one.

use crate::generator::Limits;
use crate::time::Span;

/// The largest lead of the queue: of sessions that found a millisecond used up. Each
/// has one ID in it, so that with the default layout, 4,096 sessions fill a millisecond.
pub const MAX_QUEUE: Span = Span(8);

/// Those of `snowflake.max_burst`, `reuse_window`, `max_backward_step` and `max_wait`, and the
/// queue's.
pub const LIMITS: Limits = Limits {
    max_burst: Some(Span::ZERO),
    reuse_window: Span::ZERO,
    max_backward_step: Some(Span::DAY),
    max_wait: Some(Span::SECOND),
    max_queue: MAX_QUEUE,
};

/// That of `snowflake.max_forward_step`.
pub const MAX_FORWARD_STEP: Span = Span::DAY;

/// That of `snowflake.failover_margin`.
pub const FAILOVER_MARGIN: Span = Span(5000);

/// The time between two looks of a standby's worker at the clock of the upstream; no setting.
pub const LOOK: Span = Span(200);
