//! `snowflake_check()`: whether this server issues IDs, or would if it were promoted now, and what an
//! operator should know before it hurts.

use std::ffi::{CStr, OsStr};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use snowflake_core::jump::{NOTABLE, Verdict};

use crate::dumps::{self, Recorded};
use crate::generate;
use crate::generator::{clock, shared};
use crate::promise::reservation::{self, Outlook};
use crate::promise::{self, replication};
use crate::server::encoding::encode;
use crate::server::report::Report;
use crate::server::{catalog, time};
use crate::settings::{self, Fixed, Identity};
use crate::status::{DAY, LITTLE_TIME};

/// One row for each thing that is checked: whether it is well, and what to do otherwise. The last
/// row says whether the server issues IDs, or would if it were promoted now. Runs on standbys, and
/// without preloading.
#[pg_extern(sql = "
CREATE FUNCTION snowflake_check() RETURNS TABLE (name text, ok bool, detail text, hint text)
    LANGUAGE c VOLATILE STRICT AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
")]
#[allow(clippy::type_complexity)]
fn snowflake_check(
    fcinfo: pg_sys::FunctionCallInfo,
) -> TableIterator<
    'static,
    (name!(name, String), name!(ok, bool), name!(detail, Bytes), name!(hint, Option<Bytes>)),
> {
    let fixed = settings::fixed();
    let server = Server {
        // SAFETY: PostgreSQL calls with a function.
        function: unsafe { (*(*fcinfo).flinfo).fn_oid },
        fixed,
        in_recovery: reservation::refuse_in_recovery().is_err(),
        now: clock::unix_ms(),
        outlook: reservation::outlook(fixed),
    };
    let mut checks = vec![
        server.preloading(),
        server.identity(),
        origin_of_identity(),
        server.register(),
        server.layout(),
        server.layout_of_database(),
        server.lead(),
        server.clock(),
        clocks_of_standbys(),
        server.synchronous_standbys(),
        server.field(),
        server.twins(),
        subscriptions(),
    ];
    checks.push(server.verdict(&checks));
    let bytes = |text: String| encode(&text).into_bytes();
    TableIterator::new(checks.into_iter().map(move |check| {
        let ok = check.state == State::Well;
        (check.name.to_owned(), ok, bytes(check.detail), check.hint.map(bytes))
    }))
}

/// A text in the database's encoding, which may not be UTF-8.
type Bytes = Vec<u8>;

/// Something that is checked.
struct Check {
    name: &'static str,
    state: State,
    detail: String,
    hint: Option<String>,
}

/// How it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Well,
    /// IDs are issued, but somebody should see to it.
    Doubtful,
    /// No ID is issued.
    Blocking,
}

impl Check {
    fn well(name: &'static str, detail: impl Into<String>) -> Check {
        Check { name, state: State::Well, detail: detail.into(), hint: None }
    }

    fn doubtful(name: &'static str, detail: impl Into<String>, hint: &str) -> Check {
        let (detail, hint) = (detail.into(), Some(hint.to_owned()));
        Check { name, state: State::Doubtful, detail, hint }
    }

    /// What the next ID would raise.
    fn blocking(name: &'static str, error: ErrorReport) -> Check {
        let mut message = error.message().to_owned();
        // The name of a setting or of the library begins no sentence in another way.
        let is_name = message.split(' ').next().is_some_and(|word| word.contains(['.', '_']));
        if !is_name {
            message[..1].make_ascii_uppercase();
        }
        let detail = match error.detail() {
            Some(detail) => format!("{message}. {detail}"),
            None => format!("{message}."),
        };
        let hint = error.hint().map(str::to_owned);
        Check { name, state: State::Blocking, detail, hint }
    }
}

/// The server that is checked.
struct Server {
    /// The function that was called.
    function: pg_sys::Oid,
    fixed: &'static Fixed,
    in_recovery: bool,
    /// Its clock.
    now: i64,
    /// What the next ID would find.
    outlook: Result<Outlook, promise::Error>,
}

/// Nothing was found in the register to check this with.
const UNKNOWN: &str = "Not checked: see the other rows.";

impl Server {
    fn preloading(&self) -> Check {
        match settings::require_preloading() {
            Ok(_) => Check::well("preloading", "The library is in shared_preload_libraries."),
            Err(error) => Check::blocking("preloading", error.report()),
        }
    }

    fn identity(&self) -> Check {
        match self.fixed.identity {
            Some(Identity { datacenter_id, worker_id }) => {
                Check::well("identity", format!("Datacenter {datacenter_id}, worker {worker_id}."))
            }
            None => Check::blocking("identity", settings::Error::NoIdentity.report()),
        }
    }

    fn register(&self) -> Check {
        use promise::Error::{OtherSystem, Register, RegisterDeleted};
        let name = "register";
        match &self.outlook {
            Err(error @ (Register(_) | RegisterDeleted | OtherSystem { .. })) => {
                Check::blocking(name, error.clone().report())
            }
            Err(_) => Check::well(name, "It can be read."),
            Ok(Outlook { record: Some(record), .. }) => {
                Check::well(name, format!("The floor is {}.", time::display(record.floor)))
            }
            Ok(_) => Check::well(name, "There is none. The first ID creates it."),
        }
    }

    fn layout(&self) -> Check {
        let name = "layout";
        match &self.outlook {
            Err(error @ promise::Error::OtherLayout { .. }) => {
                Check::blocking(name, error.clone().report())
            }
            Ok(Outlook { record: Some(record), .. }) if record.layout != self.fixed.layout => {
                Check::well(
                    name,
                    "The epoch and the widths were confirmed. No ID has been issued under them, so \
                     those from before are still accepted.",
                )
            }
            Ok(Outlook { record: Some(_), .. }) => {
                Check::well(name, "The epoch and the widths are those of the register.")
            }
            Ok(_) => Check::well(name, "The first ID fixes the epoch and the widths."),
            Err(_) => Check::well(name, UNKNOWN),
        }
    }

    fn layout_of_database(&self) -> Check {
        let name = "layout of the database";
        let hint = "If the server has a wrong epoch or wrong widths, correct them and restart it. \
                    Otherwise, a superuser confirms them with SELECT snowflake_confirm('layout') \
                    in this database.";
        match dumps::recorded(self.function, self.fixed.layout) {
            Recorded::Own => {
                Check::well(name, "Dumps of this database carry the epoch and the widths.")
            }
            Recorded::Others(layouts) => Check::doubtful(
                name,
                format!(
                    "This database has been used with another layout than the server's: {layouts}."
                ),
                hint,
            ),
            Recorded::Nothing => Check::doubtful(
                name,
                "The table snowflake_internal.snowflake_layout is empty. Dumps of this database carry no layout.",
                hint,
            ),
            Recorded::Unknown => Check::well(
                name,
                "Not checked: this role cannot read the table snowflake_internal.snowflake_layout.",
            ),
        }
    }

    fn lead(&self) -> Check {
        let name = "lead";
        let outlook = match &self.outlook {
            Ok(outlook) => outlook,
            Err(error @ promise::Error::StartAfterAhead { .. }) => {
                return Check::blocking(name, error.clone().report());
            }
            Err(_) => return Check::well(name, UNKNOWN),
        };
        let limits = settings::limits();
        let lead = outlook.after - self.now;
        let largest = limits.max_burst.max(outlook.hold).max(limits.max_backward_step);
        if lead > largest && lead - largest > limits.max_wait {
            let until = outlook.after - largest;
            let error = generate::Error::ClockBehind { timestamp: outlook.after, lead, until };
            return Check::blocking(name, error.report());
        }
        let after = time::display(outlook.after);
        match lead {
            ..=0 => Check::well(name, "IDs carry the time of the clock."),
            _ => Check::well(
                name,
                format!("The next ID is after {after}, {lead} ms ahead of the clock."),
            ),
        }
    }

    fn clock(&self) -> Check {
        let name = "clock";
        let outlook = match &self.outlook {
            Ok(outlook) => outlook,
            Err(error @ promise::Error::ClockBeforeEpoch { .. }) => {
                return Check::blocking(name, error.clone().report());
            }
            Err(_) => return Check::well(name, UNKNOWN),
        };
        if let (Verdict::Refuse, jump) = outlook.verdict {
            return Check::blocking(name, promise::Error::ClockAhead(jump).report());
        }
        match outlook.ahead_of_upstream {
            Some(by) if by.abs() > NOTABLE => Check::doubtful(
                name,
                format!(
                    "It is {} ms {} that of the server that this one follows.",
                    by.abs(),
                    if by > 0 { "ahead of" } else { "behind" }
                ),
                "Set the clock right before this server is promoted.",
            ),
            Some(_) => {
                Check::well(name, "It agrees with that of the server that this one follows.")
            }
            None if self.in_recovery => Check::well(
                name,
                "It does not contradict the register. Nothing is known of the clock of the server \
                 that this one follows: no message has come since this server started, or its \
                 background worker does not run.",
            ),
            None => Check::well(name, "It does not contradict the register."),
        }
    }

    fn synchronous_standbys(&self) -> Check {
        let name = "synchronous standbys";
        if self.in_recovery {
            Check::well(name, "Checked on the primary.")
        } else if !replication::has_synchronous_standbys() {
            Check::well(name, "There are none.")
        } else if !self.fixed.preloaded {
            Check::well(name, "There are some.")
        } else {
            Check::doubtful(
                name,
                "They are not known to have the floor. A transaction that takes an ID waits for \
                 them when it commits.",
                "Look at pg_stat_replication.",
            )
        }
    }

    fn field(&self) -> Check {
        let name = "timestamp field";
        let last = self.fixed.layout.last_timestamp();
        let (left, end) = (last - self.now, time::display(last));
        if left < 0 {
            Check::blocking(name, generate::Error::EndOfField { last }.report())
        } else if left < LITTLE_TIME {
            Check::doubtful(
                name,
                format!("It ends at {end}, in {} days.", left / DAY),
                "Plan for new IDs, with a later snowflake.epoch or smaller widths.",
            )
        } else {
            Check::well(name, format!("It ends at {end}."))
        }
    }

    fn twins(&self) -> Check {
        let name = "twins";
        let idle = catalog::query(IDLE_WATCHES, &[]);
        let received = if self.fixed.preloaded { shared::statistics().1.twins } else { 0 };
        if received > 0 {
            Check::doubtful(
                name,
                format!(
                    "Replicated rows had the identity of this server. Their number since the \
                     counters were reset is {received}."
                ),
                "The log names the subscriptions, and says what else it can be. Give one of the \
                 two servers another identity, and restart it. Then call snowflake_stat_reset(), \
                 which resets all counters.",
            )
        } else if let Some(tables) = idle[0][0].as_deref() {
            Check::doubtful(
                name,
                format!(
                    "The trigger of snowflake_watch_twins() is not fired by replicated rows of: \
                     {tables}."
                ),
                "Enable the trigger with ALTER TABLE ... ENABLE REPLICA TRIGGER.",
            )
        } else {
            Check::well(name, "No replicated row with the identity of this server was noticed.")
        }
    }

    fn verdict(&self, checks: &[Check]) -> Check {
        let name = "issues IDs";
        let blocking: Vec<_> = checks
            .iter()
            .filter(|check| check.state == State::Blocking)
            .map(|check| check.name)
            .collect();
        if blocking.is_empty() {
            return Check::well(
                name,
                match self.in_recovery {
                    true => "This standby would issue IDs if it were promoted now.",
                    false => "This server issues IDs.",
                },
            );
        }
        let detail = format!(
            "This {}, because of: {}.",
            match self.in_recovery {
                true => "standby would issue no ID if it were promoted now",
                false => "server issues no ID",
            },
            blocking.join(", ")
        );
        Check { name, state: State::Blocking, detail, hint: None }
    }
}

/// The tables of this database whose trigger `snowflake_watch_twins()` fires for local rows alone,
/// where it does nothing. Somebody wants a disabled one to be so.
const IDLE_WATCHES: &str = "SELECT string_agg(DISTINCT t.tgrelid::regclass::text, ', ')
    FROM pg_trigger AS t JOIN pg_proc AS p ON p.oid = t.tgfoid
    JOIN pg_language AS l ON l.oid = p.prolang
    WHERE p.prosrc = 'snowflake_watch_twins_wrapper' AND l.lanname = 'c' AND t.tgenabled = 'O'";

/// Whether the subscriptions that bring rows to watched tables are enabled. `disable_on_error` lets
/// PostgreSQL disable one without anybody's doing.
fn subscriptions() -> Check {
    let name = "subscriptions";
    if !may_read_subscriptions() {
        return Check::well(name, "Not checked: this role may not read pg_subscription.");
    }
    match catalog::query(DISABLED, &[])[0][0].as_deref() {
        None => Check::well(name, "None that brings rows to a watched table is disabled."),
        Some(disabled) => Check::doubtful(
            name,
            format!("These bring rows to watched tables, and are disabled: {disabled}."),
            "The log says why. Enable them with ALTER SUBSCRIPTION ... ENABLE, or drop them: until \
             then, their publishers keep WAL.",
        ),
    }
}

/// The disabled subscriptions of this database to tables with the trigger `snowflake_watch_twins()`.
const DISABLED: &str = "SELECT string_agg(s.subname, ', ' ORDER BY s.subname)
    FROM pg_subscription AS s
    WHERE NOT s.subenabled
        AND s.subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND EXISTS (
            SELECT FROM pg_subscription_rel AS r JOIN pg_trigger AS t ON t.tgrelid = r.srrelid
            JOIN pg_proc AS p ON p.oid = t.tgfoid JOIN pg_language AS l ON l.oid = p.prolang
            WHERE r.srsubid = s.oid AND p.prosrc = 'snowflake_watch_twins_wrapper'
                AND l.lanname = 'c')";

/// Whether this role may read what [`DISABLED`] does. Of `pg_subscription`, only superusers may read
/// every column.
fn may_read_subscriptions() -> bool {
    let column =
        |name| format!("has_column_privilege('pg_catalog.pg_subscription', '{name}', 'SELECT')");
    let columns = ["oid", "subdbid", "subname", "subenabled"].map(column);
    holds(&columns.join(" AND ")) && may_read("pg_subscription_rel")
}

/// Where the identity comes from. What lies inside the data directory is in every copy of it.
fn origin_of_identity() -> Check {
    let name = "origin of the identity";
    if !may_read("pg_settings") {
        return Check::well(name, "Not checked: this role may not read pg_settings.");
    }
    let overridden = if may_read_files() { OVERRIDDEN } else { "NULL" };
    let rows = catalog::query(
        &format!(
            "SELECT s.name, s.source, s.sourcefile, s.sourceline, {overridden} FROM pg_settings AS s
             WHERE s.name IN ('snowflake.datacenter_id', 'snowflake.worker_id') ORDER BY s.name"
        ),
        &[],
    );
    // SAFETY: a string of the server, from its start on.
    let directory = unsafe { CStr::from_ptr(pg_sys::DataDir) };
    let directory = PathBuf::from(OsStr::from_bytes(directory.to_bytes()));
    let directory = fs::canonicalize(&directory).unwrap_or(directory);
    let (mut origins, mut overridden, mut is_copied) = (Vec::new(), Vec::new(), false);
    for row in rows {
        let [setting, source, file, line, others] =
            [0, 1, 2, 3, 4].map(|number| row[number].clone());
        let (setting, source) = (setting.unwrap_or_default(), source.unwrap_or_default());
        overridden.extend(others.map(|others| format!("{setting} = {others}")));
        origins.push(match file.zip(line) {
            Some((file, line)) => {
                // The name as the server has it, whatever the encoding of the database.
                let name = encode(&file);
                let path = Path::new(OsStr::from_bytes(name.as_bytes()));
                is_copied |= fs::canonicalize(path).is_ok_and(|file| file.starts_with(&directory));
                format!("{setting}: {file}, line {line}")
            }
            None => format!("{setting}: {source}"),
        });
    }
    let origins = origins.join("; ");
    if !overridden.is_empty() {
        Check::doubtful(
            name,
            format!("{origins}. These values are not in force: {}.", overridden.join("; ")),
            "Set the identity in one place. If the server is started in another way, another of \
             these values may take effect.",
        )
    } else if is_copied {
        Check::doubtful(
            name,
            format!(
                "{origins}. This is inside the data directory, so every copy of it has this identity."
            ),
            "Set the identity on the command line, or in a file outside the data directory that \
             postgresql.conf includes.",
        )
    } else {
        Check::well(name, format!("{origins}."))
    }
}

/// Other numbers that files give to a setting. Of each file, the last line counts.
const OVERRIDDEN: &str = "
    (SELECT string_agg(f.setting || ' in ' || f.sourcefile || ', line ' || f.sourceline, ', '
                       ORDER BY f.seqno)
     FROM (SELECT DISTINCT ON (f.sourcefile) f.* FROM pg_file_settings AS f
           WHERE f.name = s.name
           ORDER BY f.sourcefile, f.seqno DESC) AS f
     WHERE ltrim(f.setting, '0') <> ltrim(s.setting, '0'))";

/// Whether this role may read a view of the catalog. Some servers do not let everybody.
fn may_read(view: &str) -> bool {
    holds(&format!("has_table_privilege('pg_catalog.{view}', 'SELECT')"))
}

/// Whether this role may read `pg_file_settings`: the view, and the function that it calls.
fn may_read_files() -> bool {
    may_read("pg_file_settings")
        && holds("has_function_privilege('pg_catalog.pg_show_all_file_settings()', 'EXECUTE')")
}

fn holds(condition: &str) -> bool {
    catalog::query(&format!("SELECT {condition}"), &[])[0][0].as_deref() == Some("t")
}

/// A standby that does not answer for longer than this is late, or its clock is behind, ms.
const LATE: i64 = 60_000;

/// What the answers of standbys say about their clocks.
fn clocks_of_standbys() -> Check {
    let name = "clocks of standbys";
    if !may_read("pg_stat_replication") {
        return Check::well(name, "Not checked: this role may not read pg_stat_replication.");
    }
    let rows = catalog::query(
        "SELECT r.application_name,
                (extract(epoch FROM r.reply_time - clock_timestamp()) * 1000)::bigint
         FROM pg_stat_replication AS r
         WHERE r.state = 'streaming' AND r.reply_time IS NOT NULL ORDER BY r.application_name",
        &[],
    );
    let mut wrong = Vec::new();
    for row in &rows {
        let standby = row[0].as_deref().unwrap_or_default();
        match row[1].as_deref().and_then(|by| by.parse::<i64>().ok()) {
            Some(by) if by > NOTABLE => wrong.push(format!("that of {standby} is {by} ms ahead")),
            Some(by) if by < -LATE => wrong.push(format!(
                "{standby} answered {} ms ago by its own clock, which may be behind",
                -by
            )),
            _ => {}
        }
    }
    match (rows.len(), wrong.is_empty()) {
        (0, _) => Check::well(name, "No standby is seen to stream from this server."),
        (_, true) => Check::well(name, "They agree with the clock of this server."),
        _ => Check::doubtful(
            name,
            format!("Compared with the clock of this server, {}.", wrong.join("; ")),
            "Set the clocks right before one of these standbys is promoted.",
        ),
    }
}
