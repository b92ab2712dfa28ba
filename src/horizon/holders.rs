//! Which transactions hold back the horizon. What a role sees of those of others is what
//! `pg_stat_activity` shows: that there is one, and not since when.

use pgrx::datum::TimestampWithTimeZone;
use pgrx::prelude::*;
use snowflake_core::horizon::NO_ID;
use snowflake_core::time::Timestamp;

use crate::generator::horizon_slots;
use crate::pg::spi;
use crate::pg::time::timestamptz;
use crate::pg::user::reads_statistics_of;
use crate::settings;

/// A transaction that has taken an ID, and might not have ended.
pub struct Held {
    /// The process; `None` for a prepared one.
    pub pid: Option<i32>,
    /// The lower half of its transaction ID, if it is prepared.
    pub xid: Option<u32>,
    /// The first ID, [`NO_ID`] for a prepared one without any, and when it was taken; `None` where
    /// the role may not see it.
    pub details: Option<(i64, Timestamp)>,
}

/// All of them, and all prepared ones for which there is a prepared slot still.
pub fn held() -> Vec<Held> {
    if !settings::fixed().preloaded {
        return Vec::new();
    }
    let processes = horizon_slots::slots().iter().enumerate().filter_map(|(number, slot)| {
        let details @ (first, _) = slot.read();
        // SAFETY: the processes of a server are an array in shared memory, and these are integers.
        let (pid, role) = unsafe {
            let process = (*pg_sys::ProcGlobal).allProcs.add(number);
            ((*process).pid, (*process).roleId)
        };
        let is_held = first != NO_ID && pid != 0;
        let details = Some(details).filter(|_| is_held && reads_statistics_of(role));
        is_held.then_some(Held { pid: Some(pid), xid: None, details })
    });
    let prepared = (0..horizon_slots::prepared_slot_count())
        .map(horizon_slots::prepared_slot)
        .filter(|held| held.xid != 0);
    let prepared = prepared.map(|held| {
        let details = Some((held.first, held.since));
        let details = details.filter(|_| held.first == NO_ID || reads_statistics_of(held.role));
        Held { pid: None, xid: Some(held.xid as u32), details }
    });
    processes.chain(prepared).collect()
}

/// A transaction that is prepared now.
#[derive(Debug)]
pub struct Prepared {
    /// The lower half of its ID.
    pub xid: u32,
    /// The name.
    pub name: String,
    /// Whose it is, and in which database.
    pub place: String,
    /// The statement that rolls it back.
    pub end: String,
}

/// All of them.
pub fn prepared() -> Vec<Prepared> {
    const PREPARED: &str = "
        SELECT transaction, gid, format('%I of role %I in database %I', gid, owner, database),
               format('ROLLBACK PREPARED %L', gid)
        FROM pg_prepared_xacts ORDER BY prepared, gid";
    let of_row = |(xid, name, place, end): (pg_sys::TransactionId, _, _, _)| Prepared {
        xid: xid.into_inner(),
        name,
        place,
        end,
    };
    spi::query(PREPARED, &[]).into_iter().map(of_row).collect()
}

/// The rows of `snowflake_horizon_holders`, before it looks for the names of prepared transactions.
#[pg_extern(sql = "
CREATE FUNCTION snowflake_internal.snowflake_horizon_held()
    RETURNS TABLE (pid integer, xid bigint, has_id boolean, since timestamptz, first_id bigint)
    LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED
    AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
", requires = ["internal"])]
#[allow(clippy::type_complexity)]
fn snowflake_horizon_held() -> TableIterator<
    'static,
    (
        name!(pid, Option<i32>),
        name!(xid, Option<i64>),
        name!(has_id, bool),
        name!(since, Option<TimestampWithTimeZone>),
        name!(first_id, Option<i64>),
    ),
> {
    TableIterator::new(held().into_iter().map(|Held { pid, xid, details }| {
        let has_id = details.is_none_or(|(first, _)| first != NO_ID);
        let shown = details.filter(|_| has_id);
        (
            pid,
            xid.map(i64::from),
            has_id,
            shown.map(|(_, since)| timestamptz(since)),
            shown.map(|(first, _)| first),
        )
    }))
}
