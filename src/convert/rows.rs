//! What the queries beside this file return, in Rust.

use pgrx::prelude::*;

use crate::server::catalog::Row;

/// A row of so many columns.
pub fn fields<const COUNT: usize>(row: Row) -> [Option<String>; COUNT] {
    row.try_into().expect("as many columns as the query has")
}

pub fn oid(text: String) -> pg_sys::Oid {
    pg_sys::Oid::from(text.parse::<u32>().expect("an OID"))
}

/// PostgreSQL packs the five characters of a SQLSTATE into six bits each.
pub fn sqlstate_of(text: &str) -> PgSqlErrorCode {
    let packed = text
        .bytes()
        .rev()
        .fold(0, |packed, byte| packed << 6 | (i32::from(byte) - i32::from(b'0')) & 0x3f);
    PgSqlErrorCode::from(packed)
}
