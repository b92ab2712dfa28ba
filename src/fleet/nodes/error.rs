//! Reasons for which an identity is not given or taken back.

use crate::pg::own_table::Untrusted;
use crate::pg::report::{self, ErrorReport, Report, wraps};
use crate::pg::time::{self, display_timestamptz};
use pgrx::prelude::*;
use snowflake_core::time::Span;

use super::node::Node;
use crate::decode;

/// Errors of claims and releases.
#[derive(Debug)]
pub enum Error {
    /// The role may not claim and release.
    NotAllowed,
    /// The transaction does not see what was committed since it began.
    OldSnapshot,
    /// The server is a standby, or still recovering.
    InRecovery,
    /// No name was given.
    NoName,
    /// A name that a line of a configuration file does not hold.
    Name(String),
    /// A number that is no datacenter or worker.
    Number {
        /// The argument.
        name: &'static str,
        /// The value.
        value: i32,
        /// The largest valid value.
        last: u32,
    },
    /// A time that IDs cannot have.
    Time(decode::Error),
    /// A time that is too far ahead of the clock for a floor.
    FarAhead {
        /// By how much, ms.
        lead: Span,
    },
    /// The node has another identity.
    HasOther {
        /// The node's name.
        name: String,
        /// The node.
        node: Node,
    },
    /// Another node has the identity.
    Taken {
        /// The identity's datacenter.
        datacenter_id: i32,
        /// The identity's worker.
        worker_id: i32,
        /// The name of the node that has it.
        holder: String,
    },
    /// This server has the released identity.
    OfThisServer {
        /// The identity's datacenter.
        datacenter_id: i32,
        /// The identity's worker.
        worker_id: i32,
    },
    /// Every identity is given out.
    NoneLeft,
    /// The node has no identity.
    NoNode(String),
    /// Both or none of the two times were given.
    OneTime,
    /// A time that is not the floor, of a server that might still run.
    NotFenced,
    /// The table is not written.
    Untrusted(Untrusted),
    /// A time up to which this node cannot have issued IDs.
    BeforeClaim {
        /// The argument that has it.
        argument: &'static str,
        /// The node's name.
        name: String,
        /// When it claimed its identity, as PostgreSQL counts.
        claimed_at: pg_sys::TimestampTz,
    },
}

wraps!(Time(decode::Error), Untrusted(Untrusted));

impl Report for Error {
    fn report(self) -> ErrorReport {
        use PgSqlErrorCode::*;
        match self {
            Error::NotAllowed => report::new(
                ERRCODE_INSUFFICIENT_PRIVILEGE,
                "permission denied to claim and release nodes",
            )
            .set_detail(
                "Only roles with the privileges of the owner of the extension may, and roles that \
                 may update snowflake_internal.snowflake_node_claims.",
            ),
            Error::OldSnapshot => report::new(
                ERRCODE_ACTIVE_SQL_TRANSACTION,
                "nodes cannot be claimed and released in a REPEATABLE READ or SERIALIZABLE \
                 transaction",
            )
            .set_detail("Such a transaction does not see claims that were made after it began.")
            .set_hint("Use a READ COMMITTED transaction."),
            Error::InRecovery => report::new(
                ERRCODE_READ_ONLY_SQL_TRANSACTION,
                "cannot claim and release nodes during recovery",
            )
            .set_hint("Do this on the primary, or promote this server first."),
            Error::NoName => {
                report::new(ERRCODE_NULL_VALUE_NOT_ALLOWED, "the name of the node must not be NULL")
            }
            Error::Name(name) => {
                report::invalid(format!("invalid node name: \"{}\"", name.escape_debug()))
                    .set_detail(
                        "A node name must not be empty, longer than 255 bytes, or contain control \
                         characters.",
                    )
            }
            Error::Number { name, value, last } => {
                let message = format!("invalid value for argument \"{name}\": {value}");
                report::invalid(message).set_detail(format!("The valid range is 0 to {last}."))
            }
            Error::Time(error) => error.report(),
            Error::FarAhead { lead } => report::invalid("the time is too far ahead of the clock")
                .set_detail(format!(
                    "It is {} ahead. A server cannot have been that far ahead.",
                    time::interval(lead)
                )),
            Error::HasOther { name, node } => report::not_ready(format!(
                "node \"{name}\" has another identity: datacenter {}, worker {}",
                node.datacenter_id, node.worker_id
            ))
            .set_hint("Release it first with snowflake_release_node()."),
            Error::Taken { datacenter_id, worker_id, holder } => report::new(
                ERRCODE_OBJECT_IN_USE,
                format!(
                    "datacenter {datacenter_id}, worker {worker_id} is already given to node \
                     \"{holder}\""
                ),
            )
            .set_hint("Release it first with snowflake_release_node(), or claim another identity."),
            Error::OfThisServer { datacenter_id, worker_id } => report::new(
                ERRCODE_OBJECT_IN_USE,
                format!(
                    "datacenter {datacenter_id}, worker {worker_id} is the identity of this server"
                ),
            )
            .set_detail("It was released, but the configuration of this server still has it.")
            .set_hint("Give this server another identity and restart it, or claim another one."),
            Error::NoneLeft => {
                report::new(ERRCODE_PROGRAM_LIMIT_EXCEEDED, "no identity is left to give out")
                    .set_hint("Release those of servers that are gone: see snowflake_nodes.")
            }
            Error::NoNode(name) => {
                report::new(ERRCODE_UNDEFINED_OBJECT, format!("node \"{name}\" has no identity"))
            }
            Error::OneTime => report::invalid(
                "exactly one of floor and issued_until must be given",
            )
            .set_hint(
                "Give as floor what snowflake_floor() returns on the node after its last ID. If \
                 the node cannot be asked, give as issued_until a time after its last ID.",
            ),
            Error::NotFenced => report::invalid("issued_until needs fenced => true")
                .set_detail("A server that still runs can issue IDs after that time.")
                .set_hint("Make sure first that the server can never issue an ID again."),
            Error::Untrusted(table) => table.report(),
            Error::BeforeClaim { argument, name, claimed_at } => report::invalid(format!(
                "{argument} is before the time when node \"{name}\" was given its identity"
            ))
            .set_detail(format!("That was at {}.", display_timestamptz(claimed_at)))
            .set_hint(match argument {
                "floor" => {
                    "Take an ID on that node, and give what snowflake_floor() then returns. If its \
                     clock is behind, or it cannot be asked, give issued_until and fenced => true."
                }
                _ => {
                    "Give that time or a later one. A later time does no harm, since the next IDs \
                     of the identity start after it."
                }
            }),
        }
    }
}
