//! The table `snowflake_node_claims`: who has which identity.

use std::ffi::CStr;

use crate::pg::own_table::OwnTable;
use crate::pg::report::ErrorReport;
use crate::pg::spi::{self, Argument, Row, int4, text};
use crate::pg::{in_recovery, transaction};
use pgrx::datum::TimestampWithTimeZone;
use pgrx::prelude::*;

use super::databases;
use super::error;
use super::node::Node;
use crate::settings;

/// The name of the table.
pub const TABLE: &str = "snowflake_node_claims";

/// The table, with nobody else who changes it until the transaction ends.
pub struct Claims {
    table: OwnTable,
}

impl Claims {
    /// Locks the table for this function, if the current role may claim.
    pub fn locked(
        fcinfo: pg_sys::FunctionCallInfo,
        function: &CStr,
    ) -> Result<Claims, ErrorReport> {
        if in_recovery() {
            return Err(error::in_recovery());
        }
        transaction::refuse_read_only(function);
        if transaction::keeps_snapshot() {
            return Err(error::old_snapshot());
        }
        // SAFETY: PostgreSQL calls with a function.
        let table = table_of(unsafe { (*(*fcinfo).flinfo).fn_oid })?;
        table.lock()?;
        transaction::let_commit_be_synchronous();
        Ok(Claims { table })
    }

    /// Runs a query on `claims`.
    fn query<R: Row>(&self, query: &str, arguments: &[Argument]) -> Vec<R> {
        let name = &self.table.name;
        let claims = format!("WITH claims AS NOT MATERIALIZED (SELECT * FROM {name})");
        self.table.write(&format!("{claims} {query}"), arguments)
    }

    /// The node of that name, if it has an identity.
    pub fn node(&self, name: &str) -> Option<Node> {
        let query = "
            SELECT c.datacenter_id, c.worker_id, c.claimed_at,
                   to_char(c.start_after AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')
            FROM claims AS c WHERE c.released_at IS NULL AND c.name = $1";
        let (datacenter_id, worker_id, claimed_at, start_after) =
            self.query(query, &[text(name)]).pop()?;
        Some(Node { datacenter_id, worker_id, claimed_at, start_after })
    }

    /// The name of the node that has this identity, if there is one.
    pub fn holder(&self, [datacenter_id, worker_id]: [i32; 2]) -> Option<String> {
        let query = "SELECT c.name FROM claims AS c
                     WHERE c.released_at IS NULL AND c.datacenter_id = $1 AND c.worker_id = $2";
        self.query(query, &[int4(datacenter_id), int4(worker_id)]).pop()
    }

    /// The identity to give to a node that has none; `None` if none is left.
    pub fn choose(&self, name: &str, wanted: [Option<i32>; 2], last: [u32; 2]) -> Option<[i32; 2]> {
        let optional = |number: Option<i32>| (number.map(pg_sys::Datum::from), pg_sys::INT4OID);
        let (wanted, last) = (wanted.map(optional), last.map(|last| int4(last as i32)));
        let own = own_identity();
        let own = [0, 1].map(|part| optional(own.map(|own| own[part])));
        let arguments = [text(name), wanted[0], wanted[1], last[0], last[1], own[0], own[1]];
        let chosen: (i32, i32) = self.query(include_str!("choice.sql"), &arguments).pop()?;
        Some(chosen.into())
    }

    /// Makes the commit wait until the claim of the node of that name is on disk and on the
    /// synchronous standbys, because the wait of the session that made it might have been canceled.
    /// Locking the row is a change, so there is something to wait for.
    pub fn keep(&self, name: &str) {
        // pg_upgrade carries the rows over, and not what is noted of them.
        databases::note(&self.table);
        let table = &self.table.name;
        let query = format!(
            "SELECT FROM {table} AS c WHERE c.released_at IS NULL AND c.name = $1 FOR UPDATE"
        );
        self.table.write::<()>(&query, &[text(name)]);
    }

    /// Gives the identity to the node of that name.
    pub fn give(&self, name: &str, [datacenter_id, worker_id]: [i32; 2]) {
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
        self.table.write::<()>(&statement, &[int4(datacenter_id), int4(worker_id), text(name)]);
    }

    /// Takes the identity back from the node of that name, and returns the time after which its
    /// next IDs start.
    pub fn release(&self, name: &str, until: TimestampWithTimeZone) -> TimestampWithTimeZone {
        let table = &self.table.name;
        let statement = format!(
            "WITH released AS (
                UPDATE {table} SET released_at = clock_timestamp(),
                                   start_after = greatest(start_after, $2)
                WHERE released_at IS NULL AND name = $1 RETURNING start_after)
             SELECT start_after FROM released"
        );
        let until = (until.into_datum(), pg_sys::TIMESTAMPTZOID);
        self.table.write(&statement, &[text(name), until]).swap_remove(0)
    }
}

/// The identity that this server itself has.
pub fn own_identity() -> Option<[i32; 2]> {
    let identity = settings::fixed().identity?;
    Some([identity.datacenter_id, identity.worker_id].map(|id| id as i32))
}

/// The table beside this function of the extension, if the current role may claim.
pub fn table_of(function: pg_sys::Oid) -> Result<OwnTable, ErrorReport> {
    const MAY_CLAIM: &str = "
        SELECT FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid
        WHERE d.classid = 'pg_class'::regclass AND d.objid = $1 AND d.deptype = 'e'
          AND (pg_has_role(e.extowner, 'USAGE') OR has_table_privilege(d.objid, 'UPDATE'))";
    OwnTable::of(function, TABLE)
        .filter(|table| !spi::query::<()>(MAY_CLAIM, &[spi::oid(table.relation)]).is_empty())
        .ok_or_else(error::not_allowed)
}
