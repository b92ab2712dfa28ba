//! The data that the trigger functions of the extension read.

use std::ffi::CStr;

use pgrx::prelude::*;

use crate::pg::encoding::decode;
use crate::pg::report::{self, ErrorReport};

/// The arguments that the trigger was created with.
pub fn arguments<'a>(trigger: &'a PgTrigger<'a>) -> Vec<&'a CStr> {
    let trigger = trigger.trigger();
    // SAFETY: a trigger has as many arguments, which are strings.
    (0..trigger.tgnargs as usize)
        .map(|number| unsafe { CStr::from_ptr(*trigger.tgargs.add(number)) })
        .collect()
}

/// The row that was inserted or deleted, or that an update makes.
pub fn row(trigger: &PgTrigger) -> pg_sys::HeapTuple {
    let data = trigger.trigger_data();
    if data.tg_newtuple.is_null() { data.tg_trigtuple } else { data.tg_newtuple }
}

/// The value of a column in [`row`]; `None` for NULL. 42703 and 42804 for a column that is not
/// there or is not a bigint.
pub fn bigint(trigger: &PgTrigger, column: &CStr) -> Result<Option<i64>, ErrorReport> {
    let name = || format!("\"{}\"", decode(column));
    // SAFETY: the trigger's relation is open. The row is of its type, and has the column.
    unsafe {
        let row_type = (*trigger.trigger_data().tg_relation).rd_att;
        let number = pg_sys::SPI_fnumber(row_type, column.as_ptr());
        if number <= 0 {
            return Err(report::new(
                PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
                format!("table \"{}\" has no column {}", table(trigger), name()),
            ));
        }
        // A domain over bigint is accepted, too.
        if pg_sys::getBaseType(pg_sys::SPI_gettypeid(row_type, number)) != pg_sys::INT8OID {
            return Err(report::new(
                PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
                format!("column {} of table \"{}\" is not of type bigint", name(), table(trigger)),
            ));
        }
        let mut is_null = false;
        let value = pg_sys::SPI_getbinval(row(trigger), row_type, number, &raw mut is_null);
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
