//! The trigger that copies the columns of a table that are widened to their shadows.

use std::ffi::CStr;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use snowflake_server::encoding::decode;
use snowflake_server::report::{self, OrRaise, Report};
use snowflake_server::{called_directly, trigger};

called_directly!(pg_finfo_snowflake_widen_copy);
extension_sql!(
    "
CREATE FUNCTION snowflake_widen_copy() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_widen_copy';
",
    name = "widen_copy"
);

/// Copies integers to columns of type bigint. The arguments of the trigger are, for each pair, the name
/// and the number of the integer column and the name of the other. The name counts, so that a dump can
/// be restored where columns have other numbers; the number is for a column that was renamed since.
/// 39P01 unless it is fired BEFORE INSERT OR UPDATE FOR EACH ROW; 22023 for other arguments; 42703 and
/// 42804 for columns that are not there or of other types.
#[unsafe(no_mangle)]
#[pg_guard]
unsafe extern "C-unwind" fn snowflake_widen_copy(
    fcinfo: pg_sys::FunctionCallInfo,
) -> pg_sys::Datum {
    // SAFETY: PostgreSQL calls, as a trigger or not.
    let trigger = unsafe { PgTrigger::from_fcinfo(&*fcinfo) };
    let trigger = trigger.map_err(|_| Error::Event).or_raise();
    pg_sys::Datum::from(copied(&trigger).or_raise())
}

fn copied(trigger: &PgTrigger) -> Result<pg_sys::HeapTuple, Error> {
    let operations = [pg_sys::TRIGGER_EVENT_INSERT, pg_sys::TRIGGER_EVENT_UPDATE];
    if !trigger::is_before(trigger) || !trigger::is_for_rows(trigger, &operations) {
        return Err(Error::Event);
    }
    let arguments = trigger::arguments(trigger);
    let (pairs, []) = arguments.as_chunks::<3>() else { return Err(Error::Arguments) };
    let mut row = trigger::row(trigger);
    // SAFETY: the trigger's relation is open.
    let row_type = unsafe { (*trigger.trigger_data().tg_relation).rd_att };
    for [name, number, shadow] in pairs {
        let from = column(row_type, name, Some(number))?;
        let to = column(row_type, shadow, None)?;
        // SAFETY: the row is of this type, which has the columns. The modified row is in memory that
        // lasts until the row is written.
        unsafe {
            let (mut is_null, mut shadow_is_null) = (false, false);
            let value = pg_sys::SPI_getbinval(row, row_type, from, &raw mut is_null);
            let value = match pg_sys::SPI_gettypeid(row_type, from) {
                pg_sys::INT2OID => i64::from(value.value() as i16),
                pg_sys::INT4OID => i64::from(value.value() as i32),
                _ => return Err(Error::Type(decode(name), "integer")),
            };
            if pg_sys::SPI_gettypeid(row_type, to) != pg_sys::INT8OID {
                return Err(Error::Type(decode(shadow), "bigint"));
            }
            let former = pg_sys::SPI_getbinval(row, row_type, to, &raw mut shadow_is_null);
            if is_null == shadow_is_null && (is_null || former.value() as i64 == value) {
                continue;
            }
            let value = pg_sys::Datum::from(value);
            row = pg_sys::heap_modify_tuple_by_cols(
                row,
                row_type,
                1,
                &raw const to as *mut _,
                &raw const value as *mut _,
                &raw const is_null as *mut _,
            );
        }
    }
    Ok(row)
}

/// The number of a column that has this name, or of one that had this number when it had the name.
fn column(row_type: pg_sys::TupleDesc, name: &CStr, number: Option<&CStr>) -> Result<i32, Error> {
    // SAFETY: the row type is that of an open relation.
    let found = unsafe { pg_sys::SPI_fnumber(row_type, name.as_ptr()) };
    if found > 0 {
        return Ok(found);
    }
    let former = number.and_then(|number| number.to_str().ok()?.parse::<i32>().ok());
    // SAFETY: as above. A column that was dropped has no type.
    let is_there = |number: &i32| unsafe {
        (1..=(*row_type).natts).contains(number)
            && pg_sys::SPI_gettypeid(row_type, *number) != pg_sys::InvalidOid
    };
    former.filter(is_there).ok_or_else(|| Error::Column(decode(name)))
}

/// Why a row cannot be copied.
#[derive(Debug)]
enum Error {
    /// The trigger is fired by something else.
    Event,
    Arguments,
    /// There is no such column.
    Column(String),
    /// It is not of this type.
    Type(String, &'static str),
}

impl Report for Error {
    fn report(self) -> ErrorReport {
        use PgSqlErrorCode::*;
        match self {
            Error::Event => report::new(
                ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
                "snowflake_widen_copy() must be fired BEFORE INSERT OR UPDATE FOR EACH ROW",
            ),
            Error::Arguments => report::new(
                ERRCODE_INVALID_PARAMETER_VALUE,
                "snowflake_widen_copy() takes the name, the number and the shadow of each column",
            )
            .set_hint("Only statements of snowflake_widen_next() create this trigger."),
            Error::Column(column) => {
                report::new(ERRCODE_UNDEFINED_COLUMN, format!("column \"{column}\" does not exist"))
                    .set_detail(
                        "The table is being widened, and this column or its shadow is gone.",
                    )
                    .set_hint(
                        "Drop the trigger ~snowflake_widen of the table, or abandon widening.",
                    )
            }
            Error::Type(column, of) => report::new(
                ERRCODE_DATATYPE_MISMATCH,
                format!("column \"{column}\" is not of type {of}"),
            ),
        }
    }
}
