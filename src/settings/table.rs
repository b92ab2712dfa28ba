//! The table of all settings: names, what they say of themselves, defaults and ranges.

use std::ffi::{CStr, CString};

use pgrx::GucSetting;
use snowflake_core::condition::{Condition, Numbered};
use snowflake_core::defaults;
use snowflake_core::layout::{Layout, Widths};
use snowflake_core::ring;
use snowflake_core::time::{Span, Timestamp};

use super::integer::{Int, NO_LIMIT};
use super::text::{Text, check_hook};
use super::{condition, valid};

/// The widths of the parts of an ID, which are fixed with the epoch.
pub static WIDTHS: [&Int; 3] = [&DATACENTER_BITS, &WORKER_BITS, &SEQUENCE_BITS];

/// Limits that may change while the server runs.
pub static LIMITS: [&Int; 8] = [
    &MAX_BURST,
    &REUSE_WINDOW,
    &MAX_BACKWARD_STEP,
    &MAX_WAIT,
    &MAX_FORWARD_STEP,
    &FAILOVER_MARGIN,
    &MAX_OBSERVED_LEAD,
    &SEQUENCE_JITTER,
];

/// With the default epoch, they are those of Twitter's layout.
const DEFAULT_WIDTHS: Widths = Layout::TWITTER.widths();

static DATACENTER_BITS: Int = Int::of_bits(
    c"snowflake.datacenter_bits",
    c"Bits of an ID that hold the datacenter.",
    DEFAULT_WIDTHS.datacenter as i32,
    0,
);

static WORKER_BITS: Int = Int::of_bits(
    c"snowflake.worker_bits",
    c"Bits of an ID that hold the worker.",
    DEFAULT_WIDTHS.worker as i32,
    0,
);

static SEQUENCE_BITS: Int = Int::of_bits(
    c"snowflake.sequence_bits",
    c"Bits of an ID that hold the sequence.",
    DEFAULT_WIDTHS.sequence as i32,
    1,
);

/// The epoch.
pub static EPOCH: Text<Timestamp> = Text {
    name: c"snowflake.epoch",
    short: c"The instant that timestamps in IDs count from.",
    long: c"An ISO 8601 instant with an offset, or milliseconds since 1970-01-01 00:00:00 UTC.",
    value: GucSetting::<Option<CString>>::new(Some(c"2010-11-04T01:42:54.657Z")),
    parse: valid::epoch,
    hook: check_hook!(EPOCH),
};

/// This server's datacenter; `None` where it is -1.
pub static DATACENTER_ID: Text<Option<u32>> = Text {
    name: c"snowflake.datacenter_id",
    short: c"This server's datacenter.",
    long: OF_IDENTITY,
    value: GucSetting::<Option<CString>>::new(Some(c"-1")),
    parse: |text| valid::id(text, Layout::last_datacenter_id),
    hook: check_hook!(DATACENTER_ID),
};

/// This server's worker; `None` where it is -1.
pub static WORKER_ID: Text<Option<u32>> = Text {
    name: c"snowflake.worker_id",
    short: c"This server's worker.",
    long: OF_IDENTITY,
    value: GucSetting::<Option<CString>>::new(Some(c"-1")),
    parse: |text| valid::id(text, Layout::last_worker_id),
    hook: check_hook!(WORKER_ID),
};

const OF_IDENTITY: &CStr =
    c"Two servers that share data must not have the same datacenter ID and the same worker ID. -1 \
    means not set: no IDs are issued.";

/// Conditions that have to hold where the identity is valid.
pub static IDENTITY_REQUIRES: Text<Vec<Condition>> = Text {
    name: c"snowflake.identity_requires",
    short: c"What has to hold where this server may issue IDs.",
    long: c"Conditions such as CLUSTER_NAME=shop, for an environment variable of the server, or \
        hostname=db-1, separated by commas. A copy for which one does not hold issues no IDs. \
        Empty if there are none.",
    value: GucSetting::<Option<CString>>::new(Some(c"")),
    parse: condition::conditions,
    hook: check_hook!(IDENTITY_REQUIRES),
};

/// Where the worker ID is in the name of the server; `None` where it is empty.
pub static WORKER_ID_FROM: Text<Option<Numbered>> = Text {
    name: c"snowflake.worker_id_from",
    short: c"Where this server's name has its worker ID.",
    long: c"A condition whose value has * for the number, such as hostname=db-*, or POD_INDEX=* \
        for an environment variable of the server, and others that have to hold, separated by \
        commas. A server whose name does not match issues no IDs. Empty if the number is in \
        snowflake.worker_id.",
    value: GucSetting::<Option<CString>>::new(Some(c"")),
    parse: condition::numbered,
    hook: check_hook!(WORKER_ID_FROM),
};

/// The time that every start begins above; `None` where it is empty.
pub static START_AFTER: Text<Option<Timestamp>> = Text {
    name: c"snowflake.start_after",
    short: c"Every start issues IDs above this time.",
    long:
        c"For a server that takes over the identity of another one, or its data by pg_upgrade or \
        dump and restore: the floor of that one. Empty if there is none.",
    value: GucSetting::<Option<CString>>::new(Some(c"")),
    parse: valid::start_after,
    hook: check_hook!(START_AFTER),
};

/// The file with the keys of public IDs; empty is none.
pub static PUBLIC_KEY_FILE: Text<()> = Text {
    name: c"snowflake.public_key_file",
    short: c"The file with the keys of public IDs.",
    long: c"One key a line, as 32 hexadecimal digits. The first makes names, and all read them. A \
        reload reads the file again. It belongs outside the data directory. Empty if there is \
        none.",
    value: GucSetting::<Option<CString>>::new(Some(c"")),
    parse: |_| Ok(()),
    hook: check_hook!(PUBLIC_KEY_FILE),
};

/// The schemas whose new tables get snowflake IDs as keys.
pub static ADOPTED_SCHEMAS: Text<()> = Text {
    name: c"snowflake.adopted_schemas",
    short: c"The schemas in which bigint keys of new tables get snowflake IDs.",
    long:
        c"A list of names, as in search_path. * stands for all schemas but the system's. Empty if \
        there are none.",
    value: GucSetting::<Option<CString>>::new(Some(c"")),
    parse: valid::schemas,
    hook: check_hook!(ADOPTED_SCHEMAS),
};

/// The largest lead of a burst of IDs over the clock.
pub static MAX_BURST: Int = Int::of_milliseconds(
    c"snowflake.max_burst",
    c"How far a burst of IDs may run ahead of the clock.",
    c"With 0, a call waits for the next millisecond when a sequence is used up; with -1, there is \
        no limit.",
    defaults::LIMITS.max_burst,
    NO_LIMIT..=i32::MAX,
);

/// The largest step back of the clock after which unused IDs are issued; 0 is off.
pub static REUSE_WINDOW: Int = Int::of_milliseconds(
    c"snowflake.reuse_window",
    c"The largest step back of the clock after which unused IDs of repeated milliseconds are \
        issued.",
    c"IDs might be smaller than earlier ones until the clock has passed these. 0 is off.",
    Some(defaults::LIMITS.reuse_window),
    0..=ring::MILLISECONDS as i32,
);

/// The largest step back of the clock that is held.
pub static MAX_BACKWARD_STEP: Int = Int::of_milliseconds(
    c"snowflake.max_backward_step",
    c"The largest step back of the clock that is held: IDs continue from the last timestamp.",
    c"With 0, no step is held; with -1, all are.",
    defaults::LIMITS.max_backward_step,
    NO_LIMIT..=i32::MAX,
);

/// The longest wait for a clock that is behind.
pub static MAX_WAIT: Int = Int::of_milliseconds(
    c"snowflake.max_wait",
    c"The longest wait for a clock that is behind by more than max_backward_step.",
    c"With 0, a call is refused at once; with -1, there is no limit.",
    defaults::LIMITS.max_wait,
    NO_LIMIT..=i32::MAX,
);

/// The largest jump ahead of the clock that IDs follow.
pub static MAX_FORWARD_STEP: Int = Int {
    check: Some(valid::FORWARD_STEP),
    ..Int::of_milliseconds(
        c"snowflake.max_forward_step",
        c"The largest jump ahead of the clock that IDs follow.",
        c"A larger one is refused until a superuser confirms it; with -1, none is refused.",
        Some(defaults::MAX_FORWARD_STEP),
        NO_LIMIT..=i32::MAX,
    )
};

/// The distance beyond the floor at which a server starts, for each timeline that has begun since.
pub static FAILOVER_MARGIN: Int = Int::of_milliseconds(
    c"snowflake.failover_margin",
    c"How far beyond the floor a server starts after a change of timeline.",
    c"For what a primary might have issued that never reached this server.",
    Some(defaults::FAILOVER_MARGIN),
    0..=i32::MAX,
);

/// The largest lead over the clock to which an ID of another server may take this one.
pub static MAX_OBSERVED_LEAD: Int = Int::of_milliseconds(
    c"snowflake.max_observed_lead",
    c"How far ahead of the clock an observed ID of another server may take this one.",
    c"An ID that is further ahead is not followed. 0 follows IDs up to the clock. A promotion that \
        goes on with an identity adds as much to failover_margin.",
    Some(Span::ZERO),
    0..=i32::MAX,
);

/// The largest sequence that a new millisecond starts with.
pub static SEQUENCE_JITTER: Int = Int {
    last: Some(Layout::last_sequence),
    is_time: false,
    ..Int::of_milliseconds(
        c"snowflake.sequence_jitter",
        c"A new millisecond starts with a random sequence from 0 to this.",
        c"Spreads IDs evenly over shards that are chosen by id modulo n, and costs capacity in \
            return.",
        Some(Span::ZERO),
        0..=i32::MAX,
    )
};
