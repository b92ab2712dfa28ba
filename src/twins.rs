//! Twins: two servers with one identity. Nothing tells them so until a key collides, unless one of
//! them receives rows of the other by replication. A trigger looks for such rows.

use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use snowflake_core::epoch;

use crate::currval;
use crate::generator::{clock, shared};
use crate::server::encoding::decode;
use crate::server::report::{self, OrRaise, Report};
use crate::server::{catalog, time};
use crate::settings::{self, Identity};

/// Looks for replicated rows whose IDs carry this server's own identity: counts and logs, or
/// refuses them. Arguments of the trigger: the column of the IDs; `log`, which is the default, or
/// `refuse`; and a time before which IDs pass, in the form of `snowflake.start_after`. 39P01 unless
/// it is fired AFTER INSERT FOR EACH ROW; 22023 for other arguments; 42703 and 42804 for a column
/// that is not there or is not a bigint; 55000 for a row that is refused.
#[pg_extern(sql = "
CREATE FUNCTION snowflake_watch_twins() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
")]
fn snowflake_watch_twins(fcinfo: pg_sys::FunctionCallInfo) -> bool {
    // SAFETY: PostgreSQL calls, as a trigger or not.
    let trigger = unsafe { PgTrigger::from_fcinfo(&*fcinfo) };
    watch(&trigger.map_err(|_| Error::Event).or_raise()).or_raise();
    // Nobody looks at what an AFTER trigger returns.
    false
}

fn watch(trigger: &PgTrigger) -> Result<(), Error> {
    // A mistake shows at the first row that fires the trigger, a local one included.
    let watch = Watch::new(trigger)?;
    let id = bigint(trigger, watch.column)?;
    // SAFETY: reads a variable of this process.
    let role = unsafe { pg_sys::SessionReplicationRole };
    let settings = settings::fixed();
    let (Some(id), Some(own)) = (id, settings.identity) else { return Ok(()) };
    if role != pg_sys::SESSION_REPLICATION_ROLE_REPLICA as i32 || !settings.preloaded {
        return Ok(());
    }
    let Ok(parts) = settings.layout.decompose(id) else { return Ok(()) };
    let identity = Identity { datacenter_id: parts.datacenter_id, worker_id: parts.worker_id };
    // A default or a trigger may have taken the ID here.
    if identity != own || parts.timestamp < watch.since || currval::last() == Some(id) {
        return Ok(());
    }
    let origin = Origin::current();
    if origin.is_first_copy() {
        return Ok(());
    }
    let entry = shared::count_twin((!watch.refuses).then(clock::boot_ms));
    let twin = || Twin::new(trigger, own, id, parts.timestamp, origin);
    if watch.refuses {
        return Err(Error::Twin(twin()));
    }
    if let Some(count) = entry {
        report::log(twin().entry(count));
    }
    Ok(())
}

/// What the trigger was created with.
struct Watch<'a> {
    column: &'a CStr,
    refuses: bool,
    /// Unix ms.
    since: i64,
}

impl<'a> Watch<'a> {
    fn new(trigger: &'a PgTrigger) -> Result<Watch<'a>, Error> {
        let (data, trigger) = (trigger.trigger_data(), trigger.trigger());
        let of_event = pg_sys::TRIGGER_EVENT_OPMASK | pg_sys::TRIGGER_EVENT_TIMINGMASK;
        let inserted = pg_sys::TRIGGER_EVENT_INSERT | pg_sys::TRIGGER_EVENT_AFTER;
        let is_row = data.tg_event & pg_sys::TRIGGER_EVENT_ROW != 0;
        if !is_row || data.tg_event & of_event != inserted {
            return Err(Error::Event);
        }
        // SAFETY: a trigger has as many arguments, which are strings.
        let arguments: Vec<&CStr> = (0..trigger.tgnargs as usize)
            .map(|number| unsafe { CStr::from_ptr(*trigger.tgargs.add(number)) })
            .collect();
        let (column, options) = arguments.split_first().ok_or(Error::Arguments(None))?;
        let wrong = |argument: &CStr| Error::Arguments(Some(decode(argument)));
        let (refuses, options) = match options.split_first() {
            Some((action, rest)) if *action == c"refuse" => (true, rest),
            Some((action, rest)) if *action == c"log" => (false, rest),
            Some((action, _)) => return Err(wrong(action)),
            None => (false, options),
        };
        let since = match options {
            [] => i64::MIN,
            [since] => epoch::parse_time(&decode(since)).map_err(|_| wrong(since))?,
            [_, surplus, ..] => return Err(wrong(surplus)),
        };
        Ok(Watch { column, refuses, since })
    }
}

/// The value of a column in the row that was inserted; `None` for NULL.
fn bigint(trigger: &PgTrigger, column: &CStr) -> Result<Option<i64>, Error> {
    let data = trigger.trigger_data();
    // SAFETY: the trigger's relation is open, and the row is of its type.
    unsafe {
        let row_type = (*data.tg_relation).rd_att;
        let number = pg_sys::SPI_fnumber(row_type, column.as_ptr());
        if number <= 0 {
            let (column, table) = (decode(column), table(trigger));
            return Err(Error::NoColumn { column, table });
        }
        // A domain is as good.
        if pg_sys::getBaseType(pg_sys::SPI_gettypeid(row_type, number)) != pg_sys::INT8OID {
            let (column, table) = (decode(column), table(trigger));
            return Err(Error::NoBigint { column, table });
        }
        let mut is_null = false;
        let value = pg_sys::SPI_getbinval(data.tg_trigtuple, row_type, number, &raw mut is_null);
        Ok((!is_null).then(|| value.value() as i64))
    }
}

/// The trigger's table, for a message.
fn table(trigger: &PgTrigger) -> String {
    // SAFETY: the relation is open, and has a name.
    decode(unsafe {
        CStr::from_ptr((*(*trigger.trigger_data().tg_relation).rd_rel).relname.data.as_ptr())
    })
}

/// What brings rows into this session.
#[derive(Clone, Copy)]
enum Origin {
    /// A subscription that follows its publisher.
    Subscription(pg_sys::Oid),
    /// A subscription that copies a table, and then follows the publisher until all tables do.
    Synchronization { subscription: pg_sys::Oid, table: pg_sys::Oid },
    /// Something else that replicates.
    Other,
}

impl Origin {
    /// PostgreSQL names its workers "logical replication worker for subscription 16400", and adds
    /// "sync" and the table to the name of one that copies it. Versions differ in the words before.
    fn current() -> Origin {
        // SAFETY: a variable of this process: NULL, or the worker that it is, with its name.
        let name = unsafe {
            let Some(worker) = pg_sys::MyBgworkerEntry.as_ref() else { return Origin::Other };
            CStr::from_ptr(worker.bgw_name.as_ptr()).to_string_lossy()
        };
        let Some((_, numbers)) = name
            .strip_prefix("logical replication ")
            .and_then(|name| name.split_once(" for subscription "))
        else {
            return Origin::Other;
        };
        let mut words = numbers.split(' ');
        let mut oid = || words.next().and_then(|word| word.parse().ok()).map(pg_sys::Oid::from_u32);
        match (oid(), words.next(), words.next().and_then(|word| word.parse().ok())) {
            (Some(subscription), Some("sync"), Some(table)) => {
                Origin::Synchronization { subscription, table: pg_sys::Oid::from_u32(table) }
            }
            (Some(subscription), ..) => Origin::Subscription(subscription),
            (None, ..) => Origin::Other,
        }
    }

    /// Whether rows are those of the first copy of a table. It contains what this server issued
    /// itself. The copy is one transaction, so it is looked up once for each.
    fn is_first_copy(self) -> bool {
        /// The start of the transaction that was looked up last, and whether it copies. Memory of
        /// one process.
        static LOOKED_UP: (AtomicI64, AtomicBool) = (AtomicI64::new(0), AtomicBool::new(false));
        let Origin::Synchronization { subscription, table } = self else { return false };
        // SAFETY: reads a variable of this process.
        let transaction = unsafe { pg_sys::GetCurrentTransactionStartTimestamp() };
        if LOOKED_UP.0.load(Relaxed) != transaction {
            const COPIES: &str = "SELECT FROM pg_subscription_rel AS r
                WHERE r.srsubid = $1 AND r.srrelid = $2 AND r.srsubstate = 'd'";
            let argument = |oid: pg_sys::Oid| (Some(oid.into()), pg_sys::OIDOID);
            let copies =
                !catalog::query(COPIES, &[argument(subscription), argument(table)]).is_empty();
            LOOKED_UP.1.store(copies, Relaxed);
            LOOKED_UP.0.store(transaction, Relaxed);
        }
        LOOKED_UP.1.load(Relaxed)
    }

    /// The name of the subscription.
    fn subscription(self) -> Option<String> {
        let (Origin::Subscription(oid) | Origin::Synchronization { subscription: oid, .. }) = self
        else {
            return None;
        };
        // SAFETY: looks a name up, which is a copy. NULL if there is none any more.
        unsafe {
            let name = get_subscription_name(oid, true);
            (!name.is_null()).then(|| decode(CStr::from_ptr(name)))
        }
    }
}

unsafe extern "C-unwind" {
    // pgrx does not bind it. A query would need a privilege that the owner of the table may lack.
    fn get_subscription_name(subscription: pg_sys::Oid, missing_ok: bool) -> *mut c_char;
}

/// A row that another server with this server's identity has made.
#[derive(Debug)]
struct Twin {
    own: Identity,
    id: i64,
    /// Unix ms.
    timestamp: i64,
    table: String,
    /// The subscription that brought it, if one did.
    subscription: Option<String>,
}

impl Twin {
    fn new(trigger: &PgTrigger, own: Identity, id: i64, timestamp: i64, origin: Origin) -> Twin {
        let (table, subscription) = (table(trigger), origin.subscription());
        Twin { own, id, timestamp, table, subscription }
    }

    /// What the log says of this row, which is the last of so many.
    fn entry(self, count: u64) -> ErrorReport {
        let report = report::message(format!(
            "another server issues snowflake IDs with the identity of this one: {}",
            self.identity()
        ));
        let count = format!("Such rows since the counters were reset: {count}.");
        report.set_detail(format!("{} {count}", self.row())).set_hint(HINT)
    }

    fn identity(&self) -> String {
        let Identity { datacenter_id, worker_id } = self.own;
        format!("datacenter {datacenter_id}, worker {worker_id}")
    }

    fn row(&self) -> String {
        let Twin { id, timestamp, table, .. } = self;
        let through = match &self.subscription {
            Some(subscription) => format!(" through subscription \"{subscription}\""),
            None => String::new(),
        };
        let issued = time::display(*timestamp);
        format!("A row of table \"{table}\" came{through} with ID {id}, issued at {issued}.")
    }
}

const HINT: &str = "Give one of the two servers another identity, and restart it. Until then, both \
                    can issue the same ID. If this server took the identity over, create the \
                    trigger with a time before which IDs pass.";

/// Why a row is not taken.
#[derive(Debug)]
enum Error {
    /// The trigger is fired at another event.
    Event,
    /// An argument of the trigger that is not legal; `None` where there are none.
    Arguments(Option<String>),
    /// The column is not in the table.
    NoColumn { column: String, table: String },
    /// The column is not a bigint.
    NoBigint { column: String, table: String },
    /// The row is a twin's.
    Twin(Twin),
}

impl Report for Error {
    fn report(self) -> ErrorReport {
        use PgSqlErrorCode::*;
        match self {
            Error::Event => report::new(
                ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
                "snowflake_watch_twins() must be fired AFTER INSERT FOR EACH ROW",
            ),
            Error::Arguments(argument) => {
                let report = report::new(
                    ERRCODE_INVALID_PARAMETER_VALUE,
                    match argument {
                        None => "snowflake_watch_twins() needs the name of a column".to_owned(),
                        Some(argument) => {
                            format!("invalid argument for snowflake_watch_twins(): \"{argument}\"")
                        }
                    },
                );
                report.set_detail(
                    "The arguments are the name of the column, optionally \"log\" or \"refuse\", \
                     and then optionally a time before which IDs pass, as ISO 8601 with an \
                     offset or as Unix milliseconds.",
                )
            }
            Error::NoColumn { column, table } => report::new(
                ERRCODE_UNDEFINED_COLUMN,
                format!("table \"{table}\" has no column \"{column}\""),
            ),
            Error::NoBigint { column, table } => report::new(
                ERRCODE_DATATYPE_MISMATCH,
                format!("column \"{column}\" of table \"{table}\" is not of type bigint"),
            ),
            Error::Twin(twin) => report::new(
                ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!(
                    "row was issued by another server with the identity of this one: {}",
                    twin.identity()
                ),
            )
            .set_detail(twin.row())
            .set_hint(HINT),
        }
    }
}
