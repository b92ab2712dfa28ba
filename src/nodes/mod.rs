//! Identities for servers, each given out once: a table in a database of the operator's choice.
//!
//! A claim holds until it is released. Nothing expires, so no server that runs loses its identity
//! to another one. A released identity is given out again with the floor of the server that had it.

mod error;

use pgrx::datum::TimestampWithTimeZone;
use pgrx::fcinfo::pg_getarg;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use crate::decode::layout::timestamp_in;
use crate::generator::clock;
use crate::server::catalog::{self, Argument, Row};
use crate::server::encoding::{encode, text_argument};
use crate::server::own_table::{OwnTable, text};
use crate::server::report::{self, OrRaise};
use crate::server::time::{display_timestamptz, from_raw};
use crate::settings;
use error::Error;

/// The identity of the node of this name, as lines of `postgresql.conf`. A name gets the same
/// identity until it is released. Without `datacenter_id` or `worker_id`, the first that nobody has
/// had is taken. 42501 for roles that may not claim; 25001 in a REPEATABLE READ transaction; 22004
/// without a name; 22023 for a name or a number that is not valid; 55000 if the node has another
/// identity; 55006 if another node, or this very server, has this one; 54000 if there is none left.
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

fn claim(fcinfo: pg_sys::FunctionCallInfo) -> Result<String, Error> {
    let name = name(fcinfo)?;
    let layout = settings::fixed().layout;
    let last = [layout.last_datacenter_id(), layout.last_worker_id()];
    let wanted =
        [number(fcinfo, 1, "datacenter_id", last[0])?, number(fcinfo, 2, "worker_id", last[1])?];
    let claims = Claims::locked(fcinfo)?;
    if let Some(node) = claims.node(&name) {
        let agrees = |wanted: Option<i32>, id| wanted.is_none_or(|wanted| wanted == id);
        if !agrees(wanted[0], node.datacenter_id) || !agrees(wanted[1], node.worker_id) {
            return Err(Error::HasOther { name, node });
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
                Err(match claims.holder([datacenter_id, worker_id]) {
                    Some(holder) => Error::Taken { datacenter_id, worker_id, holder },
                    None => Error::OfThisServer { datacenter_id, worker_id },
                })
            }
            _ => Err(Error::NoneLeft),
        },
    }
}

fn release(fcinfo: pg_sys::FunctionCallInfo) -> Result<TimestampWithTimeZone, Error> {
    let name = name(fcinfo)?;
    let [floor, issued_until] = [time(fcinfo, 1)?, time(fcinfo, 2)?];
    // SAFETY: the function has this argument, a boolean.
    let fenced = unsafe { pg_getarg::<bool>(fcinfo, 3) }.unwrap_or_default();
    let until = match (floor, issued_until) {
        (Some(floor), None) => floor,
        (None, Some(until)) if fenced => until,
        (None, Some(_)) => return Err(Error::NotFenced),
        _ => return Err(Error::OneTime),
    };
    let claims = Claims::locked(fcinfo)?;
    let Some(node) = claims.node(&name) else { return Err(Error::NoNode(name)) };
    if until < node.claimed_at {
        let argument = if floor.is_some() { "floor" } else { "issued_until" };
        return Err(Error::BeforeClaim { argument, name, claimed_at: node.claimed_at });
    }
    Ok(from_raw(claims.release(&name, until)))
}

/// The longest name of a node, in bytes of UTF-8.
const LONGEST_NAME: usize = 255;

/// The first argument.
fn name(fcinfo: pg_sys::FunctionCallInfo) -> Result<String, Error> {
    // SAFETY: the functions have this argument, a text.
    let name = unsafe {
        if pgrx::fcinfo::pg_arg_is_null(fcinfo, 0) {
            return Err(Error::NoName);
        }
        text_argument(fcinfo, 0)
    };
    // A fragment of a configuration names it in a comment.
    if name.trim().is_empty() || name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
        return Err(Error::Name(name));
    }
    Ok(name)
}

/// A datacenter or a worker; `None` for any.
fn number(
    fcinfo: pg_sys::FunctionCallInfo,
    argument: usize,
    name: &'static str,
    last: u32,
) -> Result<Option<i32>, Error> {
    // SAFETY: the function has this argument, an integer.
    let number = unsafe { pg_getarg::<i32>(fcinfo, argument) };
    number.map(|value| in_range(name, value, last)).transpose()
}

fn in_range(name: &'static str, value: i32, last: u32) -> Result<i32, Error> {
    if value < 0 || value as u32 > last {
        return Err(Error::Number { name, value, last });
    }
    Ok(value)
}

/// A time that IDs can have, as PostgreSQL counts.
fn time(
    fcinfo: pg_sys::FunctionCallInfo,
    argument: usize,
) -> Result<Option<pg_sys::TimestampTz>, Error> {
    // SAFETY: the function has this argument, a timestamptz.
    let time = unsafe { pg_getarg::<TimestampWithTimeZone>(fcinfo, argument) };
    let Some(time) = time else { return Ok(None) };
    let lead = timestamp_in(settings::fixed().layout, time)? - clock::unix_ms();
    // A floor is never lowered again, so one that nobody can have had is a mistake.
    if lead > settings::LARGEST_LIMIT {
        return Err(Error::FarAhead { lead });
    }
    Ok(Some(time.into_inner()))
}

/// The identity that this server itself has.
fn own_identity() -> Option<[i32; 2]> {
    let identity = settings::fixed().identity?;
    Some([identity.datacenter_id, identity.worker_id].map(|id| id as i32))
}

/// The notice for a node that claims the identity of this server by its numbers.
fn notice_of_own(name: &str) -> ErrorReport {
    report::message("this server has this identity in its configuration".to_owned())
        .set_hint(format!("If node \"{name}\" is another server, both issue the same IDs."))
}

/// Lets rows of `snowflake_node_claims` pass that come from roles that may claim: those of a dump
/// that is restored, too.
#[pg_extern(sql = "
CREATE FUNCTION snowflake_guard_claims() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
")]
fn snowflake_guard_claims(fcinfo: pg_sys::FunctionCallInfo) -> i64 {
    // SAFETY: PostgreSQL calls, as a trigger or not.
    let trigger = unsafe { PgTrigger::from_fcinfo(&*fcinfo) }.map_err(|_| Error::NoTrigger);
    let trigger = trigger.or_raise();
    table_of(trigger.trigger().tgfoid).or_raise();
    // The row, as it came.
    trigger.trigger_data().tg_trigtuple as i64
}

/// The table beside this function of the extension, if the current role may claim.
fn table_of(function: pg_sys::Oid) -> Result<OwnTable, Error> {
    const MAY_CLAIM: &str = "
        SELECT FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid
        WHERE d.classid = 'pg_class'::regclass AND d.objid = $1 AND d.deptype = 'e'
          AND (pg_has_role(e.extowner, 'USAGE') OR has_table_privilege(d.objid, 'UPDATE'))";
    OwnTable::of(function, "snowflake_node_claims")
        .filter(|table| !catalog::query(MAY_CLAIM, &[table.argument()]).is_empty())
        .ok_or(Error::NotAllowed)
}

/// A node that has an identity.
#[derive(Debug)]
struct Node {
    datacenter_id: i32,
    worker_id: i32,
    /// As PostgreSQL counts.
    claimed_at: pg_sys::TimestampTz,
    /// In the form of `snowflake.start_after`.
    start_after: Option<String>,
}

impl Node {
    /// The notice for a node that claims its identity again.
    fn notice(&self, name: &str) -> ErrorReport {
        let since = display_timestamptz(self.claimed_at);
        report::message(format!("node \"{name}\" has had this identity since {since}")).set_hint(
            "If two servers have this name, both issue the same IDs. If this server has lost its \
             data, release the identity before you claim it again.",
        )
    }

    /// Its lines of `postgresql.conf`.
    fn fragment(&self, name: &str) -> String {
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

/// The table, with nobody else who changes it until the transaction ends.
struct Claims {
    table: OwnTable,
}

impl Claims {
    fn locked(fcinfo: pg_sys::FunctionCallInfo) -> Result<Claims, Error> {
        if catalog::keeps_snapshot() {
            return Err(Error::OldSnapshot);
        }
        // SAFETY: PostgreSQL calls with a function.
        let table = table_of(unsafe { (*(*fcinfo).flinfo).fn_oid })?;
        table.lock()?;
        catalog::let_commit_be_synchronous();
        Ok(Claims { table })
    }

    /// Runs a query on `claims`.
    fn query(&self, query: &str, arguments: &[Argument]) -> Vec<Row> {
        let name = &self.table.name;
        let claims = format!("WITH claims AS NOT MATERIALIZED (SELECT * FROM {name})");
        self.table.write(&format!("{claims} {query}"), arguments)
    }

    /// The node of that name, if it has an identity.
    fn node(&self, name: &str) -> Option<Node> {
        let query = format!(
            "SELECT c.datacenter_id, c.worker_id, {},
                    to_char(c.start_after AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')
             FROM claims AS c WHERE c.released_at IS NULL AND c.name = $1",
            raw("c.claimed_at")
        );
        let row = self.query(&query, &[text(name)]).pop()?;
        let [datacenter_id, worker_id, claimed_at] = [0, 1, 2].map(|column| integer(&row, column));
        Some(Node {
            datacenter_id: datacenter_id as i32,
            worker_id: worker_id as i32,
            claimed_at,
            start_after: row[3].clone(),
        })
    }

    /// The name of the node that has this identity, if there is one.
    fn holder(&self, [datacenter_id, worker_id]: [i32; 2]) -> Option<String> {
        let query = "SELECT c.name FROM claims AS c
                     WHERE c.released_at IS NULL AND c.datacenter_id = $1 AND c.worker_id = $2";
        self.query(query, &[int4(datacenter_id), int4(worker_id)]).pop()?.swap_remove(0)
    }

    /// The identity to give to a node that has none; `None` if none is left.
    fn choose(&self, name: &str, wanted: [Option<i32>; 2], last: [u32; 2]) -> Option<[i32; 2]> {
        let optional = |number: Option<i32>| (number.map(pg_sys::Datum::from), pg_sys::INT4OID);
        let (wanted, last) = (wanted.map(optional), last.map(|last| int4(last as i32)));
        let own = own_identity();
        let own = [0, 1].map(|part| optional(own.map(|own| own[part])));
        let arguments = [text(name), wanted[0], wanted[1], last[0], last[1], own[0], own[1]];
        let row = self.query(include_str!("choice.sql"), &arguments).pop()?;
        Some([0, 1].map(|column| integer(&row, column) as i32))
    }

    /// Makes the commit wait until the claim of the node of that name is on disk and on the
    /// synchronous standbys, because the wait of the session that made it might have been canceled.
    /// Locking the row is a change, so there is something to wait for.
    fn keep(&self, name: &str) {
        let table = &self.table.name;
        let query = format!(
            "SELECT FROM {table} AS c WHERE c.released_at IS NULL AND c.name = $1 FOR UPDATE"
        );
        self.table.write(&query, &[text(name)]);
    }

    /// Gives the identity to the node of that name.
    fn give(&self, name: &str, [datacenter_id, worker_id]: [i32; 2]) {
        let table = &self.table.name;
        let statement = format!(
            "WITH given AS (
                INSERT INTO {table} (datacenter_id, worker_id, name, claimed_at)
                VALUES ($1, $2, $3, clock_timestamp())
                ON CONFLICT (datacenter_id, worker_id) DO UPDATE
                SET name = excluded.name, claimed_at = excluded.claimed_at, released_at = NULL
                RETURNING 1)
             SELECT FROM given"
        );
        self.table.write(&statement, &[int4(datacenter_id), int4(worker_id), text(name)]);
    }

    /// Takes the identity back from the node of that name, and returns the time after which its
    /// next IDs start.
    fn release(&self, name: &str, until: pg_sys::TimestampTz) -> pg_sys::TimestampTz {
        let table = &self.table.name;
        let statement = format!(
            "WITH released AS (
                UPDATE {table} SET released_at = clock_timestamp(),
                                   start_after = greatest(start_after, $2)
                WHERE released_at IS NULL AND name = $1 RETURNING start_after)
             SELECT {} FROM released",
            raw("start_after")
        );
        let until = (Some(until.into()), pg_sys::TIMESTAMPTZOID);
        integer(&self.table.write(&statement, &[text(name), until])[0], 0)
    }
}

/// SQL for a time as PostgreSQL counts.
fn raw(expression: &str) -> String {
    format!(
        "(extract(epoch FROM {expression} - timestamptz '2000-01-01 00:00:00+00') * 1000000)::bigint"
    )
}

fn integer(row: &Row, column: usize) -> i64 {
    let text = row[column].as_deref().expect("not NULL");
    text.parse().expect("an integer")
}

fn int4(value: i32) -> Argument {
    (Some(value.into()), pg_sys::INT4OID)
}
