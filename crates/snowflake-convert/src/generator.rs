//! What a conversion calls of the extension `snowflake`.

use pgrx::prelude::*;
use snowflake_server::ours::Function;
use snowflake_server::spi::Argument;

use super::obstacle::Obstacle;

/// The functions of the extension `snowflake` in this database.
pub struct Generator {
    nextval: Function,
    next_id: Function,
    id_of_now: Function,
    timestamp: Function,
}

impl Generator {
    /// 55000 unless the extension is there, and of a version that has these functions.
    pub fn of_database() -> Result<Generator, Obstacle> {
        Ok(Generator {
            nextval: function("snowflake_nextval")?,
            next_id: function("snowflake_internal_next_id_wrapper")?,
            id_of_now: function("snowflake_internal_id_of_now_wrapper")?,
            timestamp: function("snowflake_timestamp")?,
        })
    }

    /// The function that keys take their values from.
    pub fn nextval(&self) -> pg_sys::Oid {
        self.nextval.oid
    }

    /// The schema of this function.
    pub fn schema(&self) -> &str {
        &self.nextval.schema
    }

    /// The next ID. `snowflake_currval()` does not return it.
    pub fn next_id(&self) -> i64 {
        // SAFETY: the function takes nothing and returns a bigint.
        unsafe { self.next_id.bigint() }
    }

    /// The smallest ID of now. No ID is taken.
    pub fn id_of_now(&self) -> i64 {
        // SAFETY: as above.
        unsafe { self.id_of_now.bigint() }
    }

    /// The time of an ID, as an argument of a query.
    pub fn time_of(&self, id: i64) -> Argument {
        // SAFETY: the function takes a bigint, and returns a timestamptz.
        let time = unsafe {
            pg_sys::OidFunctionCall1Coll(self.timestamp.oid, pg_sys::InvalidOid, id.into())
        };
        (Some(time), pg_sys::TIMESTAMPTZOID)
    }
}

fn function(symbol: &str) -> Result<Function, Obstacle> {
    Function::of(symbol).ok_or_else(|| Obstacle {
        sqlstate: PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        object: "snowflake".into(),
        message: "the extension snowflake of this database is of another version".into(),
        detail: Some(format!("It has no function of a superuser with the symbol {symbol}.")),
        hint: Some(
            "Execute ALTER EXTENSION snowflake UPDATE. The functions have to belong to a \
             superuser."
                .into(),
        ),
    })
}
