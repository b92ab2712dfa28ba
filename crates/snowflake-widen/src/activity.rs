//! What a session of the server does, and who is in its way.

use std::fmt::{self, Display, Formatter};

use postgres::types::Type;
use postgres::{Client, Row};

use crate::failure::Failure;

/// What a session does.
pub struct Activity {
    /// Those it waits for.
    pub blockers: Vec<Blocker>,
    /// How far its statement is, where the server counts that: the part, what is done, and of how
    /// much.
    pub part: Option<(String, i64, i64)>,
}

/// Somebody who has a lock, or a snapshot, that a session waits for.
pub struct Blocker {
    /// Whether it is an autovacuum.
    pub is_autovacuum: bool,
    /// Whether it is one that does not yield, because it prevents transaction IDs from wrapping.
    pub prevents_wraparound: bool,
    /// The tables that it has locked as a vacuum does.
    pub tables: Vec<String>,
    text: String,
}

impl Display for Blocker {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// Those that a session waits for. A role without pg_monitor does not see what kind of process
/// another one is, but only an autovacuum works in a database without being anybody's. The age of the
/// table says whether one prevents wraparound, which its own statement would say to that monitor.
const BLOCKERS: &str = "
    SELECT b.pid, a.usename::text, a.application_name, a.state, left(a.query, 60),
        extract(epoch FROM clock_timestamp() - coalesce(a.xact_start, a.state_change))::float8,
        a.pid IS NOT NULL
            AND coalesce(a.backend_type = 'autovacuum worker', a.usesysid IS NULL),
        EXISTS (SELECT FROM locked WHERE locked.pid = b.pid AND locked.is_old),
        ARRAY(SELECT locked.name FROM locked WHERE locked.pid = b.pid)
    FROM (SELECT DISTINCT unnest(pg_blocking_pids($1)) AS pid) AS b
    LEFT JOIN pg_stat_activity AS a ON a.pid = b.pid
    ORDER BY b.pid";

/// The tables that are locked as a vacuum does, and whether they are so old that autovacuum does not
/// yield there.
const LOCKED: &str = "
    WITH locked AS (
        SELECT l.pid, format('%I.%I', n.nspname, c.relname) AS name,
            age(c.relfrozenxid) > least(current_setting('autovacuum_freeze_max_age')::bigint, (
                SELECT o.option_value::bigint FROM pg_options_to_table(c.reloptions) AS o
                WHERE o.option_name = 'autovacuum_freeze_max_age'
            )) OR mxid_age(c.relminmxid) > least(
                current_setting('autovacuum_multixact_freeze_max_age')::bigint, (
                SELECT o.option_value::bigint FROM pg_options_to_table(c.reloptions) AS o
                WHERE o.option_name = 'autovacuum_multixact_freeze_max_age'
            )) AS is_old
        FROM pg_locks AS l
        JOIN pg_class AS c ON c.oid = l.relation
        JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE l.locktype = 'relation' AND l.granted AND l.mode = 'ShareUpdateExclusiveLock'
            AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND c.relkind = 'r' AND l.pid = ANY (pg_blocking_pids($1))
    )";

/// How far a statement is.
const PART: &str = "
    SELECT phase,
        CASE WHEN lockers_total > lockers_done THEN lockers_done
            WHEN tuples_total > 0 THEN tuples_done ELSE blocks_done END,
        CASE WHEN lockers_total > lockers_done THEN lockers_total
            WHEN tuples_total > 0 THEN tuples_total ELSE blocks_total END
    FROM pg_stat_progress_create_index WHERE pid = $1
    UNION ALL
    SELECT phase, heap_blks_scanned, heap_blks_total
    FROM pg_stat_progress_vacuum WHERE pid = $1
    UNION ALL
    SELECT phase, sample_blks_scanned, sample_blks_total
    FROM pg_stat_progress_analyze WHERE pid = $1
    LIMIT 1";

impl Activity {
    /// What the session of a process does, as another session sees it.
    pub fn of(client: &mut Client, pid: i32) -> Result<Activity, Failure> {
        let blockers = format!("{LOCKED} {BLOCKERS}");
        let rows = client.query_typed(&blockers, &[(&pid, Type::INT4)])?;
        let blockers = rows.iter().map(blocker).collect();
        let rows = client.query_typed(PART, &[(&pid, Type::INT4)])?;
        let part = rows.first().and_then(|row| {
            let numbers: (Option<i64>, Option<i64>) = (row.get(1), row.get(2));
            Some((row.get(0), numbers.0?, numbers.1?))
        });
        Ok(Activity { blockers, part })
    }
}

fn blocker(row: &Row) -> Blocker {
    let (is_autovacuum, is_old): (bool, bool) = (row.get(6), row.get(7));
    let prevents_wraparound = is_autovacuum && is_old;
    let tables: Vec<String> = row.get(8);
    let pid: i32 = row.get(0);
    let text = match (pid, is_autovacuum, prevents_wraparound) {
        (0, ..) => "a prepared transaction".into(),
        (_, true, true) => {
            format!("autovacuum {pid} of {} (to prevent wraparound)", tables.join(", "))
        }
        (_, true, false) => format!("autovacuum {pid} of {}", tables.join(", ")),
        _ => client_session(pid, row),
    };
    Blocker { is_autovacuum, prevents_wraparound, tables, text }
}

/// A session with what the server shows of it.
fn client_session(pid: i32, row: &Row) -> String {
    let text = |column: usize| row.get::<_, Option<String>>(column).filter(|t| !t.is_empty());
    let mut facts: Vec<String> = [text(1), text(2)].into_iter().flatten().collect();
    match (text(3), row.get::<_, Option<f64>>(5)) {
        (Some(state), Some(seconds)) => {
            facts.push(format!("{state}, for {} s", seconds.max(0.0) as u64));
        }
        (Some(state), None) => facts.push(state),
        (None, _) => facts.push("its state is shown only to members of pg_monitor".into()),
    }
    let query = text(4)
        .map(|query| format!(": {}", query.split_whitespace().collect::<Vec<_>>().join(" ")));
    format!("session {pid} ({}){}", facts.join(", "), query.unwrap_or_default())
}
