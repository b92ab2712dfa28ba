//! The session that executes statements, and a second one that observes it.

use std::sync::Arc;

use postgres::types::Type;
use postgres::{Client, SimpleQueryMessage};

use crate::activity::Activity;
use crate::address::Address;
use crate::arguments::Unit;
use crate::failure::Failure;
use crate::interrupt;
use crate::mark::{Mark, PROGRAM, remark};
use crate::pooler;
use crate::progress::Progress;
use crate::step::Step;

/// The upper half of the number that is locked while a program works on a table, whose OID is the
/// lower half.
pub const LOCK_CLASS: i64 = 0x736e_6f77;

/// Settings that roles and databases may have, and with which a statement that takes hours would not
/// end. Not every server has all of them.
const SETTINGS: &str = "SELECT set_config(s.name, v.value, false)
    FROM (VALUES ('statement_timeout', '0'), ('lock_timeout', '0'), ('transaction_timeout', '0'),
        ('idle_in_transaction_session_timeout', '0'), ('idle_session_timeout', '0'),
        ('default_transaction_read_only', 'off'), ('default_transaction_deferrable', 'off'),
        ('default_transaction_isolation', 'read committed'),
        ('standard_conforming_strings', 'on'), ('client_min_messages', 'warning')
    ) AS v (name, value) JOIN pg_settings AS s ON s.name = v.name";

/// Both sessions.
pub struct Session<'a> {
    unit: &'a Unit,
    client: Client,
    observer: Client,
    pid: i32,
    /// The schema of the extension, quoted.
    schema: String,
    table: u32,
}

/// A session with settings of ours.
pub fn connect(
    address: &Address,
    name: &str,
    print: impl Fn(String) + Send + Sync + 'static,
) -> Result<Client, Failure> {
    let mut client = address.connect(name, print)?;
    client.simple_query(SETTINGS)?;
    Ok(client)
}

/// The schema of the extension, quoted.
pub fn schema(client: &mut Client) -> Result<String, Failure> {
    let rows = client.simple_query(
        "SELECT format('%I', n.nspname) FROM pg_extension AS e
         JOIN pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname = 'snowflake_convert'",
    )?;
    let row = rows.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    row.map(str::to_owned).ok_or_else(|| {
        Failure::Own(
            "this database does not have the extension \"snowflake_convert\"".into(),
            None,
            Some(
                "Execute CREATE EXTENSION snowflake_convert CASCADE; nothing is preloaded for it."
                    .into(),
            ),
        )
    })
}

impl<'a> Session<'a> {
    /// Connects twice.
    pub fn open(
        address: &Address,
        unit: &'a Unit,
        progress: &Arc<Progress>,
    ) -> Result<Session<'a>, Failure> {
        let printing = progress.clone();
        let mut client = connect(address, PROGRAM, move |text| printing.say(&text))?;
        let mut observer = connect(address, "snowflake-widen, observing", |_| ())?;
        pooler::refuse(&mut client, &mut observer)?;
        // Without it, a server goes on with hours of CREATE INDEX for a program that was killed.
        // Servers on some systems cannot notice that.
        let _ = client.batch_execute("SET client_connection_check_interval = '2s'");
        let (cancel, tls) = (client.cancel_token(), address.tls());
        interrupt::on_second(Box::new(move || _ = cancel.cancel_query(tls.clone())));
        let pid = pooler::pid(&mut client)?;
        let schema = schema(&mut client)?;
        let table = client.query_typed("SELECT $1::regclass::oid", &[(&unit.table, Type::TEXT)])?;
        let table = table[0].get(0);
        if unit.named.also.is_empty() && unit.named.harmless_trigger.is_empty() {
            // No name is left to look up, and a schema in which others create objects is refused.
            client.batch_execute("SET search_path = pg_catalog")?;
        }
        Ok(Session { unit, client, observer, pid, schema, table })
    }

    /// Keeps other programs away from the table, as long as this session lasts. Returns who does.
    pub fn lock(&mut self) -> Result<Option<i32>, Failure> {
        let key = LOCK_CLASS << 32 | i64::from(self.table);
        let query = "SELECT pg_try_advisory_lock($1), (
            SELECT min(l.pid) FROM pg_locks AS l
            WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted AND l.pid <> pg_backend_pid()
                AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
                AND l.classid = ($1 >> 32)::oid AND l.objid = ($1 & 4294967295)::oid)";
        let rows = self.client.query_typed(query, &[(&key, Type::INT8)])?;
        // Whoever had it may have let go of it meanwhile.
        Ok(if rows[0].get(0) { None } else { Some(rows[0].get::<_, Option<i32>>(1).unwrap_or(0)) })
    }

    /// What comes next.
    pub fn next(&mut self, goal: &str, position: i64) -> Result<Step, Failure> {
        let query = format!(
            "SELECT pg_backend_pid(), phase, object, locks, statement, coalesce(lock_timeout, 0),
                coalesce(in_transaction, true), coalesce(next_position, 0), done, total, wait
             FROM {}.snowflake_widen_next($1::oid::regclass, $2, $3, $4, $5::text[]::name[], $6)",
            self.schema
        );
        let [also, publications, triggers] = self.unit.named.parameters();
        let arguments = [
            (&self.table as _, Type::OID),
            (&goal as _, Type::TEXT),
            (&position as _, Type::INT8),
            also,
            publications,
            triggers,
        ];
        let rows = self.client.query_typed(&query, &arguments)?;
        let row = &rows[0];
        if row.get::<_, i32>(0) != self.pid {
            return Err(pooler::refusal());
        }
        let measure: (Option<i64>, Option<i64>) = (row.get(8), row.get(9));
        Ok(Step {
            phase: row.get(1),
            object: row.get::<_, Option<String>>(2).unwrap_or_default(),
            locks: row.get(3),
            statement: row.get(4),
            lock_timeout: row.get(5),
            in_transaction: row.get(6),
            next_position: row.get(7),
            measure: measure.0.zip(measure.1),
            wait: row.get(10),
        })
    }

    /// Says to whoever looks at the server's sessions how far it is.
    pub fn show(&mut self, mark: &Mark) -> Result<(), Failure> {
        let name = mark.to_string();
        let query = "SELECT set_config('application_name', $1, false)";
        self.client.query_typed(query, &[(&name, Type::TEXT)])?;
        Ok(())
    }

    /// Says there what it waits for, until the next statement.
    pub fn remark(&mut self, text: &str) -> Result<(), Failure> {
        Ok(self.client.batch_execute(&remark(text))?)
    }

    /// How long a lock is waited for before the server looks why, in milliseconds.
    pub fn deadlock_timeout(&mut self) -> Result<i32, Failure> {
        let query = "SELECT setting::int FROM pg_settings WHERE name = 'deadlock_timeout'";
        Ok(self.client.query_typed(query, &[])?[0].get(0))
    }

    /// The client that executes, and what observes it.
    pub fn split(&mut self) -> (&mut Client, Observer<'_>) {
        (&mut self.client, Observer { client: &mut self.observer, pid: self.pid })
    }
}

/// What observes the session that executes.
pub struct Observer<'a> {
    client: &'a mut Client,
    pid: i32,
}

impl Observer<'_> {
    /// What that session does now; `None` if this cannot be found out, for which no statement is
    /// given up.
    pub fn look(&mut self) -> Option<Activity> {
        Activity::of(self.client, self.pid).ok()
    }
}
