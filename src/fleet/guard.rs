//! Triggers that guard the extension's tables: they look at each row that is inserted.

use std::sync::Mutex;

use crate::pg::report::{self, ErrorReport, OnceAMinute, OrRaise};
use crate::pg::{is_replica, trigger};
use pgrx::prelude::*;

use crate::generator::clock;

/// The guard of a table.
///
/// It is fired as a replica, too (ENABLE ALWAYS), because an ordinary role can be one: by a
/// subscription of its own, or with the privilege SET on `session_replication_role`. A refusal
/// there does not raise an error, after which a subscription would try the row again without end:
/// the row is dropped, and the log says so.
///
/// Rows of a superuser's subscription pass. The current user decides, and not that of the session:
/// the subscription applies these rows as its owner or, by default from 16 on, as the owner of the
/// extension's tables, which are both superusers. A trigger of somebody else's table, which might
/// insert rows as well, runs as that somebody then.
pub struct Guard {
    /// The name of the function.
    pub function: &'static str,
    pub table: &'static str,
    /// The last entry of this process about dropped rows.
    logged: Mutex<OnceAMinute>,
}

impl Guard {
    pub const fn new(function: &'static str, table: &'static str) -> Guard {
        Guard { function, table, logged: Mutex::new(OnceAMinute::NEVER) }
    }

    /// Returns the result of the trigger: the row, or nothing if it is to be dropped, as `passes`
    /// says. 39P01 unless the trigger is fired BEFORE INSERT FOR EACH ROW.
    pub fn row(
        &self,
        fcinfo: pg_sys::FunctionCallInfo,
        passes: impl FnOnce(&PgTrigger) -> Result<bool, ErrorReport>,
    ) -> i64 {
        let wrong_event = || {
            report::new(
                PgSqlErrorCode::ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
                format!("{}() must be fired BEFORE INSERT FOR EACH ROW", self.function),
            )
        };
        // SAFETY: PostgreSQL calls, as a trigger or not.
        let trigger = unsafe { PgTrigger::from_fcinfo(&*fcinfo) };
        let trigger = trigger.map_err(|_| wrong_event()).or_raise();
        let event = trigger.event();
        if !(event.fired_before() && event.fired_by_insert() && event.fired_for_row()) {
            wrong_event().raise();
        }
        let row = trigger::row(&trigger) as i64;
        // SAFETY: asks about the current user, in a transaction.
        if is_replica() && unsafe { pg_sys::superuser() } {
            return row;
        }
        match passes(&trigger) {
            Ok(true) => row,
            Ok(false) => 0,
            Err(error) if is_replica() => {
                self.log(&error.message);
                0
            }
            Err(error) => error.raise(),
        }
    }

    fn log(&self, why: &str) {
        let mut logged = self.logged.lock().expect("a process of one thread");
        if !logged.is_due(clock::since_boot()) {
            return;
        }
        let entry = report::message(format!("a row for table \"{}\" was dropped", self.table));
        report::log(
            entry
                .set_detail(format!(
                    "Only superusers bring any row into this table as a replica. This one would \
                     have been refused: {why}."
                ))
                .set_hint(
                    "Let a superuser own the subscription, or leave the tables in schema \
                     snowflake_internal out of the publication.",
                ),
        );
    }
}
