//! Who may insert into the table of adopted schemas: the functions of the extension, and a restore.

use std::cell::Cell;

use pgrx::prelude::*;

use super::error::Error;
use crate::server::catalog::query;
use crate::server::direct::called_directly;
use crate::server::own_table::text;
use crate::server::report::{self, OrRaise, Report};
use crate::server::trigger;

thread_local! {
    /// Whether a function of the extension that has checked the rights of its caller is inserting.
    static IS_OURS: Cell<bool> = const { Cell::new(false) };
}

/// Lets a function of the extension insert until this value is dropped.
pub struct Permission(());

impl Permission {
    pub fn new() -> Permission {
        IS_OURS.set(true);
        Permission(())
    }
}

impl Drop for Permission {
    fn drop(&mut self) {
        IS_OURS.set(false);
    }
}

called_directly!(pg_finfo_snowflake_guard_adopted);

/// Leaves out a row of a schema that the inserting role does not own, and says so, because the
/// tables of this schema would depend on an extension that others can drop. A superuser may insert
/// any row. 39P01 unless it is fired BEFORE INSERT FOR EACH ROW.
#[unsafe(no_mangle)]
#[pg_guard]
unsafe extern "C-unwind" fn snowflake_guard_adopted(
    fcinfo: pg_sys::FunctionCallInfo,
) -> pg_sys::Datum {
    // SAFETY: PostgreSQL calls, as a trigger or not.
    let trigger = unsafe { PgTrigger::from_fcinfo(&*fcinfo) };
    let trigger = trigger.map_err(|_| Error::Trigger).or_raise();
    if !trigger::is_before(&trigger)
        || !trigger::is_for_rows(&trigger, &[pg_sys::TRIGGER_EVENT_INSERT])
    {
        Error::Trigger.raise();
    }
    let schema = trigger::text(&trigger, c"schema").map_err(Error::Column).or_raise();
    // The table does not accept NULL.
    if IS_OURS.get() || schema.as_deref().is_none_or(may_adopt) {
        return pg_sys::Datum::from(trigger::row(&trigger));
    }
    let schema = schema.unwrap_or_default();
    let warning = report::message(format!("schema \"{schema}\" was not adopted"))
        .set_detail("The role that inserts the row does not own a schema of this name.")
        .set_hint("Call snowflake_adopt() as the owner of the schema.");
    report::send(warning, PgLogLevel::WARNING);
    pg_sys::Datum::null()
}

fn may_adopt(schema: &str) -> bool {
    const MAY_ADOPT: &str = "
        SELECT FROM pg_roles WHERE rolname = current_user AND rolsuper
        UNION ALL
        SELECT FROM pg_namespace WHERE nspname = $1 AND pg_has_role(nspowner, 'USAGE')";
    !query(MAY_ADOPT, &[text(schema)]).is_empty()
}
