//! Which keys a call is for.

use std::ffi::CStr;

use pgrx::prelude::*;
use snowflake_server::encoding::decode;
use snowflake_server::spi::{Argument, text};

use super::generator::Generator;
use super::obstacle::{Obstacle, wrong_argument};

/// The keys of a call.
pub struct Keys {
    /// The relation, the column, the schema, the schema of the extension `snowflake`, and columns
    /// beside the keys.
    pub arguments: [Argument; 5],
    pub generator: Generator,
}

impl Keys {
    /// 22023 unless they are one column, a relation or a schema.
    pub fn new(
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
        let generator = Generator::of_database()?;
        Ok(Keys {
            arguments: [
                (relation, pg_sys::REGCLASSOID),
                column.map_or((None, pg_sys::TEXTOID), |column| text(&name(column))),
                (schema, pg_sys::REGNAMESPACEOID),
                text(generator.schema()),
                text(""),
            ],
            generator,
        })
    }

    /// Only this column of the relation.
    pub fn with_column(mut self, column: &str) -> Keys {
        self.arguments[1] = text(column);
        self
    }

    /// With columns that hold values of the keys without a foreign key, as `keys.sql` takes them.
    pub fn with_columns(mut self, columns: &str) -> Keys {
        self.arguments[4] = text(columns);
        self
    }
}

/// The text of a value of type name, which is a text to PostgreSQL where it is compared.
fn name(value: pg_sys::Datum) -> String {
    // SAFETY: the value is of this type.
    decode(unsafe { CStr::from_ptr((*value.cast_mut_ptr::<pg_sys::NameData>()).data.as_ptr()) })
}
