//! What the catalog says of a sequence.

use pgrx::pg_sys::SysCacheIdentifier::SEQRELID;
use pgrx::prelude::*;

use crate::server::report::Report;
use crate::table::{Dropped, relation_name, row};

/// A sequence, as the catalog has it.
pub struct Sequence {
    pub name: String,
    pub of: pg_sys::Oid,
    pub is_unlogged: bool,
    pub increment: i64,
    pub minimum: i64,
    pub maximum: i64,
    start: i64,
    cache: i64,
    cycles: bool,
}

impl Sequence {
    /// 42P01 if it was dropped.
    pub fn of(sequence: pg_sys::Oid) -> Sequence {
        // SAFETY: the cache is one of these rows.
        let found = unsafe {
            row(SEQRELID, sequence, |row| {
                let of = &*pg_sys::GETSTRUCT(row).cast::<pg_sys::FormData_pg_sequence>();
                let persistence = pg_sys::get_rel_persistence(sequence) as u8;
                Sequence {
                    name: relation_name(sequence),
                    of: of.seqtypid,
                    is_unlogged: persistence == pg_sys::RELPERSISTENCE_UNLOGGED,
                    increment: of.seqincrement,
                    minimum: of.seqmin,
                    maximum: of.seqmax,
                    start: of.seqstart,
                    cache: of.seqcache,
                    cycles: of.seqcycle,
                }
            })
        };
        found.unwrap_or_else(|| Dropped(sequence).raise())
    }

    /// Whether it is one that `bigserial` makes, or `serial` and `smallserial`, whose column has become
    /// bigint.
    pub fn is_plain(&self) -> bool {
        (self.start, self.increment, self.minimum, self.cache, self.cycles) == (1, 1, 1, 1, false)
            && self.maximum == self.range().1
    }

    /// The least and the greatest value of its type.
    fn range(&self) -> (i64, i64) {
        match self.of {
            pg_sys::INT2OID => (i16::MIN.into(), i16::MAX.into()),
            pg_sys::INT4OID => (i32::MIN.into(), i32::MAX.into()),
            _ => (i64::MIN, i64::MAX),
        }
    }

    /// Its options, as CREATE SEQUENCE takes them, with these limits.
    pub fn options(&self, maximum: i64, minimum: i64) -> String {
        let Sequence { start, increment, cache, .. } = self;
        let cycle = if self.cycles { "CYCLE" } else { "NO CYCLE" };
        format!(
            "INCREMENT BY {increment} MINVALUE {minimum} MAXVALUE {maximum} START WITH {start} \
             CACHE {cache} {cycle}"
        )
    }

    /// The same options for a bigint: a limit that is the type's own becomes that of bigint.
    pub fn options_of_bigint(&self) -> String {
        let (least, greatest) = self.range();
        let maximum = if self.maximum == greatest { i64::MAX } else { self.maximum };
        let minimum = if self.minimum == least { i64::MIN } else { self.minimum };
        self.options(maximum, minimum)
    }
}
