//! Twins: two servers with one identity. Nothing tells them so until a key collides, unless one of
//! them receives rows of the other by replication. A trigger looks for such rows.
//!
//! A row that carries this server's identity might also be its own: another server has moved,
//! restored or otherwise inserted it again. A twin's rows are fresh when they are committed, and
//! one of these is usually old by then, or was deleted here before.

mod deleted;
mod error;
mod origin;
mod suspects;

use std::ffi::{CStr, c_int};
use std::ptr;

use crate::pg::encoding::decode;
use crate::pg::report::{ErrorReport, OrRaise};
use crate::pg::trigger;
use pgrx::prelude::*;
use snowflake_core::epoch;
use snowflake_core::time::{Span, Timestamp};

use crate::generate::currval;
use crate::settings::{self, Identity};
use error::{wrong_arguments, wrong_event};
use suspects::Suspect;

pub use deleted::init;

/// Looks for replicated rows whose IDs carry this server's own identity: counts and logs, or
/// refuses them. Arguments of the trigger: the column of the IDs; `log`, which is the default, or
/// `refuse`; for how long an ID is fresh, which is a minute by default, in the form of a setting
/// of milliseconds; and a time before which IDs pass, in the form of `snowflake.start_after`. 39P01
/// unless it is fired AFTER INSERT OR DELETE FOR EACH ROW; 22023 for other arguments; 42703 and
/// 42804 for a column that is not there or is not a bigint; 55000 for a row that is refused, when
/// its transaction commits.
#[pg_extern(sql = "
CREATE FUNCTION snowflake_watch_twins() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
")]
fn snowflake_watch_twins(fcinfo: pg_sys::FunctionCallInfo) -> bool {
    // SAFETY: PostgreSQL calls, as a trigger or not.
    let trigger = unsafe { PgTrigger::from_fcinfo(&*fcinfo) };
    watch(&trigger.map_err(|_| wrong_event()).or_raise()).or_raise();
    // Nobody looks at what an AFTER trigger returns.
    false
}

fn watch(trigger: &PgTrigger) -> Result<(), ErrorReport> {
    // A mistake shows at the first row that fires the trigger, a local one included.
    let watch = Watch::new(trigger)?;
    let id = trigger::bigint(trigger, watch.column)?;
    let settings = settings::fixed();
    let (Some(id), Some(own)) = (id, settings.identity) else { return Ok(()) };
    if !settings.preloaded || !origin::is_replayed() {
        return Ok(());
    }
    let Ok(parts) = settings.layout.decompose(id) else { return Ok(()) };
    let identity = Identity { datacenter_id: parts.datacenter_id, worker_id: parts.worker_id };
    if identity != own {
        return Ok(());
    }
    if watch.is_deletion {
        deleted::keep(id);
        return Ok(());
    }
    // A default or a trigger might have taken the ID here.
    let is_own = deleted::might_contain(id) || currval::last() == Some(id);
    if is_own || Some(parts.timestamp) < watch.since || origin::is_first_copy() {
        return Ok(());
    }
    let Watch { refuses, fresh_for, .. } = watch;
    // SAFETY: the trigger's relation is open.
    let table = unsafe { (*trigger.trigger_data().tg_relation).rd_id.to_u32() };
    suspects::keep((id, table), Suspect { timestamp: parts.timestamp, fresh_for, refuses });
    Ok(())
}

/// For how long an ID is fresh, if the trigger does not say it: transactions that insert rows
/// are mostly shorter, and clocks of servers differ by less.
const FRESH_FOR: Span = Span::MINUTE;

/// The arguments of the trigger, and the event that has fired it.
struct Watch<'a> {
    is_deletion: bool,
    column: &'a CStr,
    refuses: bool,
    /// For how long after its time a twin would commit an ID.
    fresh_for: Span,
    since: Option<Timestamp>,
}

impl<'a> Watch<'a> {
    fn new(trigger: &'a PgTrigger) -> Result<Watch<'a>, ErrorReport> {
        let event = trigger.event();
        let is_deletion = event.fired_by_delete();
        let is_for_rows = event.fired_after() && event.fired_for_row();
        if !(is_for_rows && (is_deletion || event.fired_by_insert())) {
            return Err(wrong_event());
        }
        let arguments = trigger::arguments(trigger);
        let (column, options) = arguments.split_first().ok_or_else(|| wrong_arguments(None))?;
        let wrong = |argument: &CStr| wrong_arguments(Some(argument));
        if let Some(surplus) = options.get(3) {
            return Err(wrong(surplus));
        }
        let refuses = match options.first() {
            Some(action) if *action == c"refuse" => true,
            Some(action) if *action != c"log" => return Err(wrong(action)),
            _ => false,
        };
        let fresh_for = match options.get(1) {
            Some(duration) => milliseconds(duration).ok_or_else(|| wrong(duration))?,
            None => FRESH_FOR,
        };
        let read = |since: &&CStr| epoch::parse_time(&decode(since)).map_err(|_| wrong(since));
        let since = options.get(2).map(read).transpose()?;
        Ok(Watch { is_deletion, column, refuses, fresh_for, since })
    }
}

/// A duration, read as the value of a setting is; `None` if the text is no duration, or not above
/// 0.
fn milliseconds(duration: &CStr) -> Option<Span> {
    let mut value: c_int = 0;
    // SAFETY: reads a string, and writes a number.
    let is_one = unsafe {
        pg_sys::parse_int(
            duration.as_ptr(),
            &raw mut value,
            pg_sys::GUC_UNIT_MS as c_int,
            ptr::null_mut(),
        )
    };
    (is_one && value > 0).then(|| Span(value.into()))
}
