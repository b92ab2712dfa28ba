//! Messages about a twin's rows, and about a trigger that cannot look for them.

use std::ffi::CStr;

use crate::pg::encoding::decode;
use crate::pg::report::{self, ErrorReport};
use crate::pg::time;
use pgrx::prelude::*;
use snowflake_core::time::Timestamp;

use super::origin;
use crate::settings::Identity;

/// A row that another server with this server's identity has made.
pub struct Twin {
    /// The identity of both servers.
    pub own: Identity,
    /// The key of the row.
    pub id: i64,
    /// When the ID was issued.
    pub timestamp: Timestamp,
    /// When the row was committed.
    pub committed: Timestamp,
    /// The table that has the row.
    pub table: pg_sys::Oid,
}

impl Twin {
    /// The entry of the log that names this row, the last of `count` such rows.
    pub fn entry(self, count: u64) -> ErrorReport {
        let report = report::message(format!(
            "another server issues snowflake IDs with the identity of this one: {}",
            self.identity()
        ));
        let count = format!("Such rows since the counters were reset: {count}.");
        report.set_detail(format!("{} {count}", self.row())).set_hint(HINT)
    }

    /// The error that refuses this row.
    pub fn refusal(self) -> ErrorReport {
        report::not_ready(format!(
            "row was issued by another server with the identity of this one: {}",
            self.identity()
        ))
        .set_detail(self.row())
        .set_hint(HINT)
    }

    fn identity(&self) -> String {
        let Identity { datacenter_id, worker_id } = self.own;
        format!("datacenter {datacenter_id}, worker {worker_id}")
    }

    fn row(&self) -> String {
        let id = self.id;
        // SAFETY: looks a name up, which is a copy. NULL if there is none any more.
        let table = unsafe {
            let name = pg_sys::get_rel_name(self.table);
            if name.is_null() { self.table.to_string() } else { decode(CStr::from_ptr(name)) }
        };
        let through = match origin::subscription() {
            Some(subscription) => format!(" through subscription \"{subscription}\""),
            None => String::new(),
        };
        let [issued, committed] = [self.timestamp, self.committed].map(time::display);
        format!(
            "A row of table \"{table}\" came{through} with ID {id}, issued at {issued}, and \
             committed at {committed}."
        )
    }
}

const HINT: &str = "Give one of the two servers another identity, and restart it. Until then, both \
                    can issue the same ID. If this server made the row itself, and another one \
                    inserted it again, create the trigger with a shorter time as the third \
                    argument. If this server took the identity over, create it with a time before \
                    which IDs pass as the fourth.";

/// The error for a trigger that is fired at another event.
pub fn wrong_event() -> ErrorReport {
    report::new(
        PgSqlErrorCode::ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
        "snowflake_watch_twins() must be fired AFTER INSERT OR DELETE FOR EACH ROW",
    )
}

/// The error for an argument of the trigger that is not valid; `None` where there are none.
pub fn wrong_arguments(argument: Option<&CStr>) -> ErrorReport {
    let message = match argument.map(decode) {
        None => "snowflake_watch_twins() needs the name of a column".to_owned(),
        Some(argument) => {
            format!("invalid argument for snowflake_watch_twins(): \"{argument}\"")
        }
    };
    report::invalid(message).set_detail(
        "The arguments are the name of the column, and optionally, in this order, \"log\" or \
         \"refuse\"; the time for which an ID is fresh, such as \"1min\"; and a time before which \
         IDs pass, as ISO 8601 with an offset or as Unix milliseconds.",
    )
}
