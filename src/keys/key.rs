//! Keys: columns that take values of a sequence, or snowflake IDs. Adoption asks here, of
//! PostgreSQL's caches.

use std::ffi::c_char;

use pgrx::pg_sys::NodeTag::{T_CoerceToDomain, T_Const, T_FuncExpr, T_RelabelType};
use pgrx::pg_sys::SysCacheIdentifier::{PARTRELID, SEQRELID};
use pgrx::{PgList, pg_sys};

use crate::keys::table::{Table, columns, dropped, members, node, row};
use crate::pg::encoding::text_attribute;
use crate::pg::library_function::LibraryFunction;

/// Where the values of a column come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// An identity column with this sequence.
    Identity(pg_sys::Oid),
    /// A default that takes the next value of this sequence, casts aside.
    Sequence(pg_sys::Oid),
    /// A default that takes values of a sequence, and does more.
    Computed,
    /// The default `snowflake_nextval()`.
    Ids,
    /// It has no default, and is not generated.
    Nothing,
    /// None of these.
    Other,
}

impl Source {
    /// Of a column; of a default that is `snowflake_nextval()` if the database has that function.
    pub fn of(table: &Table, number: i16, function: Option<&LibraryFunction>) -> Source {
        let descriptor = table.relation.tuple_desc();
        let Some(column) = descriptor.get(number as usize - 1) else { return Source::Other };
        if column.attidentity != 0 {
            return owned_sequences(table.oid, number, b'i')
                .first()
                .map_or(Source::Other, |sequence| Source::Identity(*sequence));
        }
        match table.default(number) {
            _ if column.attgenerated != 0 => Source::Other,
            Some(default) => of_default(&default, function),
            None => Source::Nothing,
        }
    }
}

/// Of a default, as the catalog has it.
fn of_default(default: &str, function: Option<&LibraryFunction>) -> Source {
    const NEXTVAL: u32 = 1574;
    let otherwise = match default.contains(&format!(":funcid {NEXTVAL} ")) {
        true => Source::Computed,
        false => Source::Other,
    };
    let mut node = node(default);
    // SAFETY: the parts of the node are of the types that their tags say.
    unsafe {
        loop {
            node = match (*node).type_ {
                T_RelabelType => (*node.cast::<pg_sys::RelabelType>()).arg.cast(),
                T_CoerceToDomain => (*node.cast::<pg_sys::CoerceToDomain>()).arg.cast(),
                T_FuncExpr => {
                    let call = &*node.cast::<pg_sys::FuncExpr>();
                    let first = PgList::<pg_sys::Node>::from_pg(call.args).get_ptr(0);
                    match first {
                        None if function.is_some_and(|ours| ours.oid == call.funcid) => {
                            return Source::Ids;
                        }
                        Some(of) if call.funcid.to_u32() == NEXTVAL && (*of).type_ == T_Const => {
                            // 0 for NULL.
                            let value = (*of.cast::<pg_sys::Const>()).constvalue;
                            let sequence = pg_sys::Oid::from(value.value() as u32);
                            let kind = pg_sys::get_rel_relkind(sequence) as u8;
                            return match kind == pg_sys::RELKIND_SEQUENCE {
                                true => Source::Sequence(sequence),
                                false => otherwise,
                            };
                        }
                        Some(of) if is_cast(call) => of,
                        _ => return otherwise,
                    }
                }
                _ => return otherwise,
            }
        }
    }
}

fn is_cast(call: &pg_sys::FuncExpr) -> bool {
    use pg_sys::CoercionForm::{COERCE_EXPLICIT_CAST, COERCE_IMPLICIT_CAST};
    [COERCE_EXPLICIT_CAST, COERCE_IMPLICIT_CAST].contains(&call.funcformat)
}

/// The sequences that belong to a column as an identity column (`i`) or by OWNED BY (`a`).
pub fn owned_sequences(table: pg_sys::Oid, column: i16, how: u8) -> Vec<pg_sys::Oid> {
    let (mut of, mut number) = (pg_sys::InvalidOid, 0);
    // SAFETY: reads what depends on the table, and on what the sequences depend.
    let mut is_owned = |sequence: &pg_sys::Oid| unsafe {
        pg_sys::sequenceIsOwned(*sequence, how as c_char, &raw mut of, &raw mut number)
            && number == i32::from(column)
    };
    // SAFETY: as above; the list is one of OIDs.
    let owned = unsafe { PgList::<pg_sys::Oid>::from_pg(pg_sys::getOwnedSequences(table)) };
    owned.iter_oid().filter(|sequence| is_owned(sequence)).collect()
}

/// Returns whether a sequence is one that `bigserial` makes, or `serial` and `smallserial`, whose
/// column has become bigint. 42P01 if it was dropped.
pub fn is_plain(sequence: pg_sys::Oid) -> bool {
    // SAFETY: the cache is one of these rows.
    let is_plain = unsafe {
        row(SEQRELID, sequence, |row| {
            let of = &*pg_sys::GETSTRUCT(row).cast::<pg_sys::FormData_pg_sequence>();
            let greatest = match of.seqtypid {
                pg_sys::INT2OID => i16::MAX.into(),
                pg_sys::INT4OID => i32::MAX.into(),
                _ => i64::MAX,
            };
            (of.seqstart, of.seqincrement, of.seqmin, of.seqcache, of.seqcycle)
                == (1, 1, 1, 1, false)
                && of.seqmax == greatest
        })
    };
    is_plain.unwrap_or_else(|| dropped(sequence).raise())
}

/// Returns whether a column refers to another one by a foreign key, and so takes its values from
/// there.
pub fn is_reference(table: &Table, column: i16) -> bool {
    table.foreign_keys().iter().any(|key| {
        let pairs = key.conkey.iter().zip(&key.confkey);
        pairs
            .take(key.nkeys as usize)
            .any(|(own, other)| *own == column && (key.confrelid, *other) != (table.oid, column))
    })
}

/// The columns of a table's primary key, by their numbers.
pub fn of_primary_key(table: pg_sys::Oid) -> Vec<i16> {
    // SAFETY: looks for the constraint of a table by its OID, and reads the set that it gives.
    unsafe { members(pg_sys::get_primary_key_attnos(table, true, &mut pg_sys::InvalidOid.clone())) }
}

/// Returns whether the partitions of a table are ranges or lists of a column, or of an expression
/// with it.
pub fn is_partitioned_by(table: pg_sys::Oid, column: i16) -> bool {
    const BY_HASH: c_char = b'h' as c_char;
    // SAFETY: the cache is one of these rows, whose columns are as many as they say.
    let key = unsafe {
        row(PARTRELID, table, |row| {
            let key = &*pg_sys::GETSTRUCT(row).cast::<pg_sys::FormData_pg_partitioned_table>();
            let is_named = key.partattrs.values.as_slice(key.partnatts as usize).contains(&column);
            let expressions = pg_sys::Anum_pg_partitioned_table_partexprs;
            (key.partstrat, is_named, text_attribute(PARTRELID, row, expressions))
        })
    };
    let uses_it = |text: String| columns(&text).iter().any(|number| [0, column].contains(number));
    key.is_some_and(|(strategy, is_named, expressions)| {
        strategy != BY_HASH && (is_named || expressions.is_some_and(uses_it))
    })
}

/// A table, its partitions and the tables that inherit from it, locked, so that nobody drops them
/// until the transaction ends.
pub fn inheritors(table: pg_sys::Oid, lock: u32) -> Vec<pg_sys::Oid> {
    // SAFETY: looks for them by an OID, and the list is one of OIDs.
    unsafe {
        let tables = pg_sys::find_all_inheritors(table, lock as _, std::ptr::null_mut());
        PgList::<pg_sys::Oid>::from_pg(tables).iter_oid().collect()
    }
}
