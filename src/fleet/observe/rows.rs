//! The trigger that observes replicated rows. It keeps the greatest IDs of a transaction, and lets
//! the server follow them just before the commit, so that this holds before anybody sees the rows.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

use crate::pg::report::{self, ErrorReport, OrRaise};
use crate::pg::subtransaction::{message_of, rolled_back};
use crate::pg::{called_directly, is_replica, trigger};
use pgrx::pg_sys::XactEvent::{XACT_EVENT_ABORT, XACT_EVENT_PRE_COMMIT, XACT_EVENT_PRE_PREPARE};
use pgrx::prelude::*;

use super::error::{failed, wrong_arguments, wrong_event};
use super::id::{max_lead, observe, observe_at_once};
use crate::generator::clock;
use crate::generator::shared;
use crate::settings;

thread_local! {
    /// The greatest ID of the transaction that was within the limit when its row came, and the
    /// greatest one of the others. One that is too far ahead must not hide one that is not. IDs of
    /// a subtransaction that was rolled back stay, which does no harm.
    static GREATEST: Cell<[Option<i64>; 2]> = const { Cell::new([None; 2]) };
}

/// Asks to be told of the end of each transaction. Called while the library is preloaded.
pub fn init() {
    // SAFETY: the server starts, and each of its processes inherits this.
    unsafe { pg_sys::RegisterXactCallback(Some(at_end), ptr::null_mut()) };
}

called_directly!(pg_finfo_snowflake_observe_rows);
extension_sql!(
    "
CREATE FUNCTION snowflake_observe_rows() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_observe_rows';
",
    name = "observe_rows",
    requires = ["observe"]
);

/// Observes the IDs of replicated rows. The argument of the trigger is the column. 39P01 unless it
/// is fired BEFORE or AFTER INSERT OR UPDATE FOR EACH ROW; 22023 for other arguments; 42703 and
/// 42804 for a column that is not there or is not a bigint.
#[unsafe(no_mangle)]
#[pg_guard]
unsafe extern "C-unwind" fn snowflake_observe_rows(
    fcinfo: pg_sys::FunctionCallInfo,
) -> pg_sys::Datum {
    // SAFETY: PostgreSQL calls, as a trigger or not.
    let trigger = unsafe { PgTrigger::from_fcinfo(&*fcinfo) };
    let trigger = trigger.map_err(|_| wrong_event()).or_raise();
    look_at(&trigger).or_raise();
    // A BEFORE trigger returns the row that is written. Nobody looks at what another one returns.
    pg_sys::Datum::from(trigger::row(&trigger))
}

fn look_at(trigger: &PgTrigger) -> Result<(), ErrorReport> {
    // A mistake shows at the first row that fires the trigger, a local one included.
    let event = trigger.event();
    if !(event.fired_for_row() && (event.fired_by_insert() || event.fired_by_update())) {
        return Err(wrong_event());
    }
    let column = match *trigger::arguments(trigger) {
        [column] => column,
        _ => return Err(wrong_arguments()),
    };
    let Some(id) = trigger::bigint(trigger, column)? else { return Ok(()) };
    let fixed = settings::fixed();
    if !is_replica() || !fixed.preloaded || fixed.identity.is_none() {
        return Ok(());
    }
    // A value that is no ID is nothing to follow.
    let Ok(parts) = fixed.layout.decompose(id) else { return Ok(()) };
    let is_beyond = parts.timestamp - clock::now() > max_lead();
    let mut greatest = GREATEST.get();
    let place = &mut greatest[usize::from(is_beyond)];
    *place = Some(id).max(*place);
    GREATEST.set(greatest);
    Ok(())
}

/// A transaction of this process ends.
unsafe extern "C-unwind" fn at_end(event: pg_sys::XactEvent::Type, _: *mut c_void) {
    if GREATEST.get() == [None; 2] {
        return;
    }
    match event {
        XACT_EVENT_PRE_COMMIT | XACT_EVENT_PRE_PREPARE => follow(),
        XACT_EVENT_ABORT => GREATEST.set([None; 2]),
        _ => {}
    }
}

/// Lets the server follow what the transaction has brought. Nothing stops the commit: whatever goes
/// wrong is counted and logged, since the next attempt to apply the transaction would end alike.
#[cold]
#[inline(never)]
#[pg_guard]
extern "C-unwind" fn follow() {
    let mut greatest = GREATEST.replace([None; 2]);
    // The clock has gone on since the rows came, so what was beyond the limit might not be any
    // more, and what came later might be greater and was within it. Who follows one follows all
    // below it.
    greatest.sort_unstable_by(|one, other| other.cmp(one));
    for id in greatest.into_iter().flatten() {
        if observe_at_once(id) || may_follow(id) {
            return;
        }
    }
}

/// Returns whether it is followed. An error is none for the transaction.
fn may_follow(id: i64) -> bool {
    let act = || observe(id).map_err(|error| error.message);
    let result = rolled_back(act, |error| Err(message_of(&error)));
    result.unwrap_or_else(|message| {
        if shared::count_refusal(clock::since_boot()).is_some() {
            report::log(failed(id, &message));
        }
        false
    })
}
