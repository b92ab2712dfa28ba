//! The layout that a database is used with: a table of one row, which dumps carry. A server with
//! another layout refuses that row, and so the restore.

use crate::pg::own_table::OwnTable;
use crate::pg::report::{self, ErrorReport};
use crate::pg::spi::{self, Argument};
use crate::pg::time::display_timestamptz;
use pgrx::prelude::*;
use snowflake_core::layout::Layout;

use crate::fleet::guard::Guard;
use crate::settings::{self, NamedLayout};

/// Lets a row of `snowflake_layout` pass that names the server's layout, if it is the first one,
/// and drops it otherwise. 55000 for a row that names another layout: it comes from a dump of a
/// server that has it. As a replica, see [`Guard`]. 39P01 unless it is fired BEFORE INSERT FOR EACH
/// ROW.
#[pg_extern(sql = "
CREATE FUNCTION snowflake_internal.snowflake_guard_layout() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
", requires = ["internal"])]
fn snowflake_guard_layout(fcinfo: pg_sys::FunctionCallInfo) -> i64 {
    static GUARD: Guard = Guard::new("snowflake_guard_layout", TABLE);
    GUARD.row(fcinfo, passes)
}

/// Returns whether the row is to be stored.
fn passes(trigger: &PgTrigger) -> Result<bool, ErrorReport> {
    let server = NamedLayout::from(settings::fixed().layout);
    match in_row(trigger) {
        // The NOT NULL constraints of the table raise the error.
        None => Ok(true),
        Some(dump) if dump != server => Err(other_layout(dump, server)),
        Some(_) => {
            let table = table(trigger.trigger().tgfoid);
            Ok(table.is_none_or(|table| is_empty(&table)))
        }
    }
}

/// The record in the table of the layout that its database is used with.
pub enum Recorded {
    /// This role may not read it.
    Unknown,
    /// Nothing.
    Nothing,
    /// The server's layout.
    Own,
    /// Other layouts, described.
    Others(String),
}

/// Reads the table of the extension that has this function.
pub fn recorded(function: pg_sys::Oid, layout: Layout) -> Result<Recorded, ErrorReport> {
    let table = table(function).filter(|table| table.is_readable);
    let Some(table) = table else { return Ok(Recorded::Unknown) };
    table.keep_name()?;
    let query = format!(
        "SELECT string_agg(DISTINCT format('epoch %s, widths %s, %s and %s bits', l.epoch,
                                           l.datacenter_bits, l.worker_bits, l.sequence_bits), '; ')
         FROM {} AS l
         WHERE {OTHER}",
        table.name
    );
    let mut others = spi::query(&query, &arguments(NamedLayout::from(layout)));
    Ok(match others.swap_remove(0) {
        Some(others) => Recorded::Others(others),
        None if is_empty(&table) => Recorded::Nothing,
        None => Recorded::Own,
    })
}

/// Makes the table beside this function of the extension name this layout alone. Returns whether
/// this changed anything.
pub fn record(function: pg_sys::Oid, layout: Layout) -> Result<bool, ErrorReport> {
    let Some(table) = table(function) else { return Ok(false) };
    table.lock()?;
    let name = &table.name;
    let statement = format!(
        "WITH changed AS (
            UPDATE {name} AS l
            SET (epoch, datacenter_bits, worker_bits, sequence_bits) = ROW ($1, $2, $3, $4)
            WHERE {OTHER} RETURNING 1),
         added AS (
            INSERT INTO {name} (epoch, datacenter_bits, worker_bits, sequence_bits)
            SELECT $1, $2, $3, $4 WHERE NOT EXISTS (SELECT FROM {name}) RETURNING 1)
         SELECT FROM changed UNION ALL SELECT FROM added"
    );
    Ok(!table.write::<()>(&statement, &arguments(NamedLayout::from(layout))).is_empty())
}

/// Rows of the table that do not name the layout of the arguments.
const OTHER: &str =
    "(l.epoch, l.datacenter_bits, l.worker_bits, l.sequence_bits) <> ($1, $2, $3, $4)";

/// The name of the table.
const TABLE: &str = "snowflake_layout";

/// The table beside this function of the extension.
fn table(function: pg_sys::Oid) -> Option<OwnTable> {
    OwnTable::of(function, TABLE)
}

fn is_empty(table: &OwnTable) -> bool {
    spi::query::<()>(&format!("SELECT FROM {} LIMIT 1", table.name), &[]).is_empty()
}

/// Returns the layout that the new row names; `None` if a column is NULL.
fn in_row(trigger: &PgTrigger) -> Option<NamedLayout> {
    let data = trigger.trigger_data();
    // SAFETY: the trigger's relation is open, and the row is of its type.
    let column = |number| unsafe {
        let (row_type, mut is_null) = ((*data.tg_relation).rd_att, false);
        let value = pg_sys::SPI_getbinval(data.tg_trigtuple, row_type, number, &raw mut is_null);
        (!is_null).then(|| value.value() as i64)
    };
    let [epoch, datacenter, worker, sequence] = [1, 2, 3, 4].map(column);
    Some(NamedLayout {
        epoch: epoch?,
        widths: [datacenter? as i32, worker? as i32, sequence? as i32],
    })
}

/// For a query: `$1` is the epoch, and `$2` to `$4` are the widths.
fn arguments(layout: NamedLayout) -> [Argument; 4] {
    let [datacenter, worker, sequence] =
        layout.widths.map(|bits| (Some(bits.into()), pg_sys::INT4OID));
    [(Some(layout.epoch.into()), pg_sys::TIMESTAMPTZOID), datacenter, worker, sequence]
}

/// The error for a row that names another layout than the server's.
fn other_layout(dump: NamedLayout, server: NamedLayout) -> ErrorReport {
    let [datacenter, worker, sequence] = dump.widths;
    let epoch = display_timestamptz(dump.epoch);
    report::not_ready("the dump is of a server with another snowflake.epoch or other widths")
        .set_detail(format!(
            "The dump: {dump} for datacenter, worker and sequence. This server: {server}. Restored \
             here, its IDs would give other times and parts."
        ))
        .set_hint(format!(
            "Restore it on a server with snowflake.epoch = '{epoch}', snowflake.datacenter_bits = \
             {datacenter}, snowflake.worker_bits = {worker} and snowflake.sequence_bits = \
             {sequence}."
        ))
}
