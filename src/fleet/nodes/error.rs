//! Reasons for which an identity is not given or taken back.

use crate::pg::report::{self, ErrorReport};
use crate::pg::time::{self, display_timestamptz};
use pgrx::prelude::*;
use snowflake_core::time::Span;

use super::node::Node;

/// The role may not claim and release.
pub fn not_allowed() -> ErrorReport {
    report::new(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        "permission denied to claim and release nodes",
    )
    .set_detail(
        "Only roles with the privileges of the owner of the extension may, and roles that may \
         update snowflake_internal.snowflake_node_claims.",
    )
}

/// The transaction does not see what was committed since it began.
pub fn old_snapshot() -> ErrorReport {
    report::new(
        PgSqlErrorCode::ERRCODE_ACTIVE_SQL_TRANSACTION,
        "nodes cannot be claimed and released in a REPEATABLE READ or SERIALIZABLE transaction",
    )
    .set_detail("Such a transaction does not see claims that were made after it began.")
    .set_hint("Use a READ COMMITTED transaction.")
}

/// The server is a standby, or still recovering.
pub fn in_recovery() -> ErrorReport {
    report::new(
        PgSqlErrorCode::ERRCODE_READ_ONLY_SQL_TRANSACTION,
        "cannot claim and release nodes during recovery",
    )
    .set_hint("Do this on the primary, or promote this server first.")
}

/// No name was given.
pub fn no_name() -> ErrorReport {
    report::new(
        PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
        "the name of the node must not be NULL",
    )
}

/// A name that a line of a configuration file does not hold.
pub fn wrong_name(name: &str) -> ErrorReport {
    report::invalid(format!("invalid node name: \"{}\"", name.escape_debug())).set_detail(
        "A node name must not be empty, longer than 255 bytes, or contain control characters.",
    )
}

/// A number that is no datacenter or worker.
pub fn wrong_number(argument: &str, value: i32, last: u32) -> ErrorReport {
    report::invalid(format!("invalid value for argument \"{argument}\": {value}"))
        .set_detail(format!("The valid range is 0 to {last}."))
}

/// A time that is too far ahead of the clock for a floor.
pub fn far_ahead(lead: Span) -> ErrorReport {
    report::invalid("the time is too far ahead of the clock").set_detail(format!(
        "It is {} ahead. A server cannot have been that far ahead.",
        time::interval(lead)
    ))
}

/// The node has another identity.
pub fn has_other(name: &str, node: &Node) -> ErrorReport {
    report::not_ready(format!(
        "node \"{name}\" has another identity: datacenter {}, worker {}",
        node.datacenter_id, node.worker_id
    ))
    .set_hint("Release it first with snowflake_release_node().")
}

/// Another node has the identity.
pub fn taken([datacenter_id, worker_id]: [i32; 2], holder: &str) -> ErrorReport {
    report::new(
        PgSqlErrorCode::ERRCODE_OBJECT_IN_USE,
        format!(
            "datacenter {datacenter_id}, worker {worker_id} is already given to node \"{holder}\""
        ),
    )
    .set_hint("Release it first with snowflake_release_node(), or claim another identity.")
}

/// This server has the released identity.
pub fn of_this_server([datacenter_id, worker_id]: [i32; 2]) -> ErrorReport {
    report::new(
        PgSqlErrorCode::ERRCODE_OBJECT_IN_USE,
        format!("datacenter {datacenter_id}, worker {worker_id} is the identity of this server"),
    )
    .set_detail("It was released, but the configuration of this server still has it.")
    .set_hint("Give this server another identity and restart it, or claim another one.")
}

/// Every identity is given out.
pub fn none_left() -> ErrorReport {
    report::new(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, "no identity is left to give out")
        .set_hint("Release those of servers that are gone: see snowflake_nodes.")
}

/// The node has no identity.
pub fn no_node(name: &str) -> ErrorReport {
    report::new(
        PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
        format!("node \"{name}\" has no identity"),
    )
}

/// Both or none of the two times were given.
pub fn not_one_time() -> ErrorReport {
    report::invalid("exactly one of floor and issued_until must be given").set_hint(
        "Give as floor what snowflake_floor() returns on the node after its last ID. If the node \
         cannot be asked, give as issued_until a time after its last ID.",
    )
}

/// A time that is not the floor, of a server that might still run.
pub fn not_fenced() -> ErrorReport {
    report::invalid("issued_until needs fenced => true")
        .set_detail("A server that still runs can issue IDs after that time.")
        .set_hint("Make sure first that the server can never issue an ID again.")
}

/// A time in this argument up to which the node cannot have issued IDs.
pub fn before_claim(argument: &str, name: &str, claimed_at: pg_sys::TimestampTz) -> ErrorReport {
    report::invalid(format!(
        "{argument} is before the time when node \"{name}\" was given its identity"
    ))
    .set_detail(format!("That was at {}.", display_timestamptz(claimed_at)))
    .set_hint(match argument {
        "floor" => {
            "Take an ID on that node, and give what snowflake_floor() then returns. If its clock \
             is behind, or it cannot be asked, give issued_until and fenced => true."
        }
        _ => {
            "Give that time or a later one. A later time does no harm, since the next IDs of the \
             identity start after it."
        }
    })
}
