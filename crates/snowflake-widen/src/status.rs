//! How far it is, from what the server shows of its sessions and from its catalog.

use std::process::ExitCode;

use postgres::Client;
use postgres::types::Type;

use crate::activity::Activity;
use crate::address::Address;
use crate::arguments::Named;
use crate::failure::Failure;
use crate::mark::{Mark, PROGRAM, duration, read_remark};
use crate::session::{LOCK_CLASS, connect, schema};

/// A table, with the session of a program that works on it.
struct Table {
    oid: u32,
    name: String,
    pages: i32,
    rows: f32,
    pid: Option<i32>,
    mark: Option<String>,
    since: Option<String>,
    statement: Option<String>,
}

/// The tables whose OIDs are locked by programs, and those with a key that the trigger of the extension
/// copies, whose arguments are a name, a number and another name for each column. That trigger is on
/// the tables that refer to the key, too. A row: a table, with the session if there is one.
const TABLES: &str = "
    WITH running AS (
        SELECT l.objid AS table_id, l.pid FROM pg_locks AS l
        WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted AND l.classid = $1::bigint::oid
            AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    ), prepared AS (
        SELECT t.tgrelid AS table_id, c.number
        FROM pg_extension AS e
        JOIN pg_depend AS d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
            AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
        JOIN pg_proc AS p ON p.oid = d.objid AND p.proname = 'snowflake_widen_copy'
        JOIN pg_trigger AS t ON t.tgfoid = p.oid,
        LATERAL (
            SELECT number::int FROM regexp_split_to_table(encode(t.tgargs, 'escape'), '\\\\000')
                WITH ORDINALITY AS argument (number, place)
            WHERE place % 3 = 2
        ) AS c
    ), keys AS (
        SELECT table_id FROM prepared AS p
        WHERE EXISTS (
            SELECT FROM pg_index
            WHERE indrelid = table_id AND indisunique AND indnkeyatts = 1 AND indkey[0] = number
        ) AND NOT EXISTS (
            SELECT FROM pg_constraint AS k
            WHERE conrelid = table_id AND contype = 'f' AND conkey = ARRAY[number::int2]
                AND EXISTS (SELECT FROM prepared AS o WHERE o.table_id = confrelid)
        )
    )
    SELECT c.oid, format('%I.%I', n.nspname, c.relname), c.relpages, c.reltuples, r.pid,
        nullif(a.application_name, ''), to_char(a.backend_start, 'YYYY-MM-DD HH24:MI:SS'),
        a.query
    FROM pg_class AS c
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    LEFT JOIN running AS r ON r.table_id = c.oid
    LEFT JOIN pg_stat_activity AS a ON a.pid = r.pid
    WHERE CASE WHEN $2::text IS NOT NULL THEN c.oid = $2::regclass
        WHEN r.pid IS NOT NULL THEN true
        ELSE c.oid IN (SELECT table_id FROM keys) END
    ORDER BY 2";

/// Prints how far a table is, or each one that is being widened.
pub fn show(address: &Address, table: Option<&str>, named: &Named) -> Result<ExitCode, Failure> {
    let mut client = connect(address, PROGRAM, |text| eprintln!("{text}"))?;
    let schema = schema(&mut client)?;
    let rows = client.query_typed(TABLES, &[(&LOCK_CLASS, Type::INT8), (&table, Type::TEXT)])?;
    if rows.is_empty() {
        println!("no table of this database is being widened");
    }
    for row in rows {
        let table = Table {
            oid: row.get(0),
            name: row.get(1),
            pages: row.get(2),
            rows: row.get(3),
            pid: row.get(4),
            mark: row.get(5),
            since: row.get(6),
            statement: row.get(7),
        };
        match table.pid {
            Some(pid) => running(&mut client, &table, pid)?,
            None => stopped(&mut client, &schema, &table, named)?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn line(name: &str, value: impl std::fmt::Display) {
    println!("    {name:<11}{value}");
}

/// What a program that runs says of itself, and what its session does.
fn running(client: &mut Client, table: &Table, pid: i32) -> Result<(), Failure> {
    println!("{}", table.name);
    let since = table.since.as_ref().map(|since| format!(", since {since}"));
    line("session", format!("{pid}{}", since.unwrap_or_default()));
    match table.mark.as_deref().and_then(Mark::read) {
        Some(mark) => {
            line("phase", &mark.what);
            if mark.total > 0 {
                let is_backfill = mark.what.ends_with("backfill");
                let unit = if is_backfill { " blocks" } else { "" };
                line("done", format!("{} of {}{unit}", mark.done, mark.total));
                if is_backfill && table.pages > 0 {
                    let rows = f64::from(table.rows) / f64::from(table.pages);
                    let of = |blocks: i64| (rows * blocks as f64).round();
                    line("rows", format!("about {} of {}", of(mark.done), of(mark.total)));
                }
                if is_backfill && let Some((rate, left)) = mark.rate() {
                    line("rate", format!("{rate:.0} blocks a second"));
                    line("time left", duration(left));
                }
            }
        }
        None => line("phase", "not begun yet"),
    }
    let activity = Activity::of(client, pid)?;
    if let Some((part, done, total)) = activity.part {
        line("statement", format!("{part}, {done} of {total}"));
    }
    for blocker in &activity.blockers {
        line("waits for", blocker);
    }
    if activity.blockers.is_empty() {
        // Between two attempts, nobody is in the way of the session itself. What it said last is
        // hidden from other roles that are not in pg_monitor.
        match table.statement.as_deref() {
            None | Some("<insufficient privilege>") => line("waits for", "not shown to this role"),
            Some(statement) => line("waits for", read_remark(statement).unwrap_or("nobody")),
        }
    }
    Ok(())
}

/// What would come next. Where a table that is prepared is not the one with the key, the server says
/// so.
fn stopped(client: &mut Client, schema: &str, table: &Table, named: &Named) -> Result<(), Failure> {
    println!("{}", table.name);
    line("session", "none: no program runs");
    let query = format!(
        "SELECT phase, object, wait FROM {schema}.snowflake_widen_next(
            $1::oid::regclass, 'prepare', 0, $2::text[]::name[], $3, $4)"
    );
    let [also, publications, triggers] = named.parameters();
    let arguments = [(&table.oid as _, Type::OID), also, publications, triggers];
    match client.query_typed(&query, &arguments) {
        Ok(rows) => {
            let text = |column: usize| rows[0].get::<_, Option<String>>(column).unwrap_or_default();
            line("next", format!("{} {}", text(0), text(1)).trim_end());
            if !text(2).is_empty() {
                line("waits for", text(2));
            }
        }
        Err(error) => match error.as_db_error() {
            Some(error) => {
                line("next", error.message());
                if let Some(hint) = error.hint() {
                    line("hint", hint);
                }
            }
            None => return Err(error.into()),
        },
    }
    Ok(())
}
