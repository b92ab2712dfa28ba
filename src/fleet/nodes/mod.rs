//! Identities for servers, each given out once: a table in a database of the operator's choice.
//!
//! A claim holds until it is released. Nothing expires, so no server that runs loses its identity
//! to another one. A released identity is given out again with the floor of the server that had it.
//!
//! - `claims`: the table.
//! - `databases`: the databases of this server that have claims.
//! - `node`: the answer to a node.
//! - `error`: reasons for which an identity is not given or taken back.

mod claims;
mod databases;
mod error;
mod node;

use crate::pg::argument::text_argument;
use crate::pg::encoding::encode;
use crate::pg::report::{self, ErrorReport, OrRaise};
use pgrx::datum::TimestampWithTimeZone;
use pgrx::fcinfo::pg_getarg;
use pgrx::prelude::*;

use crate::decode::layout::timestamp_in;
use crate::fleet::guard::Guard;
use crate::generator::clock;
use crate::settings;
use claims::{Claims, table_of};

pub use claims::{TABLE, own_identity};
pub use databases::with_claims;

/// The identity of the node of this name, as lines of `postgresql.conf`. A name gets the same
/// identity until it is released. Without `datacenter_id` or `worker_id`, the first that nobody has
/// had is taken. 42501 for roles that may not claim; 25001 in a REPEATABLE READ transaction; 25006
/// on a standby and in a read-only transaction; 22004 without a name; 22023 for a name or a number
/// that is not valid; 55000 if the node has another identity; 55006 if another node, or this very
/// server, has this one; 54000 if there is none left.
#[pg_extern(sql = "
CREATE FUNCTION snowflake_claim_node(name text, datacenter_id integer DEFAULT NULL,
                                     worker_id integer DEFAULT NULL)
    RETURNS text LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
")]
fn snowflake_claim_node(fcinfo: pg_sys::FunctionCallInfo) -> Vec<u8> {
    let fragment = claim(fcinfo).or_raise();
    encode(&fragment).into_bytes()
}

/// Gives the identity of a node back, with the time up to which the node might have issued IDs:
/// `floor`, what `snowflake_floor()` said on it after its last ID, or `issued_until` with
/// `fenced => true` for a server that cannot be asked, and that can never issue an ID again.
/// Returns the time that the identity's next IDs start after. 22004 and 22023 for other arguments;
/// 42704 for a node that has no identity.
#[pg_extern(sql = "
CREATE FUNCTION snowflake_release_node(name text, floor timestamptz DEFAULT NULL,
                                       issued_until timestamptz DEFAULT NULL,
                                       fenced boolean DEFAULT false)
    RETURNS timestamptz LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
")]
fn snowflake_release_node(fcinfo: pg_sys::FunctionCallInfo) -> TimestampWithTimeZone {
    release(fcinfo).or_raise()
}

fn claim(fcinfo: pg_sys::FunctionCallInfo) -> Result<String, ErrorReport> {
    let name = name(fcinfo)?;
    let layout = settings::fixed().layout;
    let last = [layout.last_datacenter_id(), layout.last_worker_id()];
    let wanted =
        [number(fcinfo, 1, "datacenter_id", last[0])?, number(fcinfo, 2, "worker_id", last[1])?];
    let claims = Claims::locked(fcinfo, c"snowflake_claim_node()")?;
    if let Some(node) = claims.node(&name) {
        let agrees = |wanted: Option<i32>, id| wanted.is_none_or(|wanted| wanted == id);
        if !agrees(wanted[0], node.datacenter_id) || !agrees(wanted[1], node.worker_id) {
            return Err(error::has_other(&name, &node));
        }
        // The widths might have been others when it was given.
        in_range("datacenter_id", node.datacenter_id, last[0])?;
        in_range("worker_id", node.worker_id, last[1])?;
        report::send(node.notice(&name), PgLogLevel::NOTICE);
        claims.keep(&name);
        return Ok(node.fragment(&name));
    }
    match claims.choose(&name, wanted, last) {
        Some(chosen) => {
            claims.give(&name, chosen);
            if Some(chosen) == own_identity() {
                report::send(notice_of_own(&name), PgLogLevel::NOTICE);
            }
            Ok(claims.node(&name).expect("it was given one").fragment(&name))
        }
        None => match wanted {
            [Some(datacenter_id), Some(worker_id)] => {
                let identity = [datacenter_id, worker_id];
                Err(match claims.holder(identity) {
                    Some(holder) => error::taken(identity, &holder),
                    None => error::of_this_server(identity),
                })
            }
            _ => Err(error::none_left()),
        },
    }
}

fn release(fcinfo: pg_sys::FunctionCallInfo) -> Result<TimestampWithTimeZone, ErrorReport> {
    let name = name(fcinfo)?;
    let [floor, issued_until] = [time(fcinfo, 1)?, time(fcinfo, 2)?];
    // SAFETY: the function has this argument, a boolean.
    let fenced = unsafe { pg_getarg::<bool>(fcinfo, 3) }.unwrap_or_default();
    let until = match (floor, issued_until) {
        (Some(floor), None) => floor,
        (None, Some(until)) if fenced => until,
        (None, Some(_)) => return Err(error::not_fenced()),
        _ => return Err(error::not_one_time()),
    };
    let claims = Claims::locked(fcinfo, c"snowflake_release_node()")?;
    let Some(node) = claims.node(&name) else { return Err(error::no_node(&name)) };
    if until < node.claimed_at {
        let argument = if floor.is_some() { "floor" } else { "issued_until" };
        return Err(error::before_claim(argument, &name, node.claimed_at.into_inner()));
    }
    Ok(claims.release(&name, until))
}

/// The longest name of a node, in bytes of UTF-8.
const LONGEST_NAME: usize = 255;

/// The first argument.
fn name(fcinfo: pg_sys::FunctionCallInfo) -> Result<String, ErrorReport> {
    // SAFETY: the functions have this argument, a text.
    let name = unsafe {
        if pgrx::fcinfo::pg_arg_is_null(fcinfo, 0) {
            return Err(error::no_name());
        }
        text_argument(fcinfo, 0)
    };
    // A fragment of a configuration names it in a comment.
    if name.trim().is_empty() || name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
        return Err(error::wrong_name(&name));
    }
    Ok(name)
}

/// A datacenter or a worker; `None` for any.
fn number(
    fcinfo: pg_sys::FunctionCallInfo,
    argument: usize,
    name: &'static str,
    last: u32,
) -> Result<Option<i32>, ErrorReport> {
    // SAFETY: the function has this argument, an integer.
    let number = unsafe { pg_getarg::<i32>(fcinfo, argument) };
    number.map(|value| in_range(name, value, last)).transpose()
}

fn in_range(name: &'static str, value: i32, last: u32) -> Result<i32, ErrorReport> {
    if value < 0 || value as u32 > last {
        return Err(error::wrong_number(name, value, last));
    }
    Ok(value)
}

/// A time that IDs can have.
fn time(
    fcinfo: pg_sys::FunctionCallInfo,
    argument: usize,
) -> Result<Option<TimestampWithTimeZone>, ErrorReport> {
    // SAFETY: the function has this argument, a timestamptz.
    let time = unsafe { pg_getarg::<TimestampWithTimeZone>(fcinfo, argument) };
    let Some(time) = time else { return Ok(None) };
    let lead = timestamp_in(settings::fixed().layout, time)? - clock::now();
    // A floor is never lowered again, so one that nobody can have had is a mistake.
    if lead > settings::LARGEST_LIMIT {
        return Err(error::far_ahead(lead));
    }
    Ok(Some(time))
}

/// The notice for a node that claims the identity of this server by its numbers.
fn notice_of_own(name: &str) -> ErrorReport {
    report::message("this server has this identity in its configuration".to_owned())
        .set_hint(format!("If node \"{name}\" is another server, both issue the same IDs."))
}

/// Lets rows of `snowflake_node_claims` pass that come from roles that may claim: those of a dump
/// that is restored, too. As a replica, see [`Guard`]. 39P01 unless it is fired BEFORE INSERT FOR
/// EACH ROW.
#[pg_extern(sql = "
CREATE FUNCTION snowflake_internal.snowflake_guard_claims() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
", requires = ["internal"])]
fn snowflake_guard_claims(fcinfo: pg_sys::FunctionCallInfo) -> i64 {
    static GUARD: Guard = Guard::new("snowflake_guard_claims", claims::TABLE);
    GUARD.row(fcinfo, |trigger| {
        let table = table_of(trigger.trigger().tgfoid)?;
        databases::note(&table);
        Ok(true)
    })
}
