//! Which keys a call is for.

use std::ffi::CStr;

use pgrx::prelude::*;

use super::obstacle::{Obstacle, wrong_argument};
use crate::server::catalog::Argument;
use crate::server::encoding::decode;
use crate::server::own_table::text;

/// The keys of a call.
pub struct Keys {
    /// The relation, the column, the schema, and the schema of this extension.
    pub arguments: [Argument; 4],
    /// The function that was called.
    pub function: pg_sys::Oid,
}

impl Keys {
    /// 22023 unless they are one column, a relation or a schema.
    pub fn new(
        fcinfo: pg_sys::FunctionCallInfo,
        relation: Option<pg_sys::Datum>,
        column: Option<pg_sys::Datum>,
        schema: Option<pg_sys::Datum>,
    ) -> Result<Keys, Obstacle> {
        let hint = "Give a relation and one of its columns, or only a relation or a schema, for \
                    all of its keys.";
        if relation.is_some() == schema.is_some() {
            let message = "exactly one of relation and schema must be given";
            return Err(wrong_argument(message.into(), hint));
        } else if column.is_some() && relation.is_none() {
            return Err(wrong_argument("column_name needs a relation".into(), hint));
        }
        // SAFETY: PostgreSQL calls with a function, which is in a schema. The text is a copy.
        let (function, own_schema) = unsafe {
            let function = (*(*fcinfo).flinfo).fn_oid;
            let namespace = pg_sys::get_func_namespace(function);
            (function, pg_sys::cstring_to_text(pg_sys::get_namespace_name(namespace)))
        };
        Ok(Keys {
            arguments: [
                (relation, pg_sys::REGCLASSOID),
                column.map_or((None, pg_sys::TEXTOID), |column| text(&name(column))),
                (schema, pg_sys::REGNAMESPACEOID),
                (Some(own_schema.into()), pg_sys::TEXTOID),
            ],
            function,
        })
    }
}

/// The text of a value of type name, which is a text to PostgreSQL where it is compared.
fn name(value: pg_sys::Datum) -> String {
    // SAFETY: the value is of this type.
    decode(unsafe { CStr::from_ptr((*value.cast_mut_ptr::<pg_sys::NameData>()).data.as_ptr()) })
}
