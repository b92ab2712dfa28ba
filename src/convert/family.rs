//! Which columns there are: the keys that are asked for, and what refers to them.

use std::collections::{BTreeMap, BTreeSet};

use PgSqlErrorCode::*;
use pgrx::pg_sys::SysCacheIdentifier::RELOID;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use crate::key::{
    Source, heirs, is_in_partition_key, is_integer, is_partitioned_by, is_reference, of_primary_key,
};
use crate::server::encoding::encode;
use crate::server::ours::Function;
use crate::server::report::{self, Report};
use crate::server::spi::{Argument, Row, query};
use crate::table::{Dropped, NARROW, Table, column_name, relation_name, row, type_name};

/// A column of the table that it is not inherited from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Column {
    /// The OID of its table, which has an order here.
    pub of: u32,
    pub number: i16,
}

impl Column {
    fn new(table: pg_sys::Oid, number: i16) -> Column {
        Column { of: table.to_u32(), number }
    }

    pub fn table(self) -> pg_sys::Oid {
        pg_sys::Oid::from(self.of)
    }

    pub fn name(self) -> String {
        column_name(self.table(), self.number)
    }

    /// It is not converted for a reason, which is a sentence.
    pub fn refused(self, sqlstate: PgSqlErrorCode, reason: impl Into<String>) -> ErrorReport {
        let (name, table) = (self.name(), relation_name(self.table()));
        report::new(sqlstate, format!("column {name} of table {table} cannot be converted"))
            .set_detail(reason)
    }

    /// The type of its values, and the type without domains.
    fn types(self) -> [pg_sys::Oid; 2] {
        // SAFETY: look for the column by its number, and for the type by its OID.
        unsafe {
            let of = pg_sys::get_atttype(self.table(), self.number);
            if of == pg_sys::InvalidOid {
                Dropped(self.table()).raise();
            }
            [of, pg_sys::getBaseType(of)]
        }
    }

    /// Whether its values are narrower than those of a bigint.
    pub fn is_narrow(self) -> bool {
        NARROW.contains(&self.types()[1])
    }

    /// What PostgreSQL cannot make bigint, whatever uses it: 42804 for a domain, 42809 for a column of a
    /// typed table, and 42P16 for one of a partition key.
    fn refuse_fixed_type(self) -> Result<(), ErrorReport> {
        let [of, base] = self.types();
        let row_type = of_row(self.table(), |class| class.reloftype);
        Err(if of != base {
            let reason = format!("It is of type {}.", type_name(of));
            self.refused(ERRCODE_DATATYPE_MISMATCH, reason)
                .set_hint("Change the type of the column to integer first.")
        } else if row_type != pg_sys::InvalidOid {
            let reason = format!("The table is of type {}.", type_name(row_type));
            self.refused(ERRCODE_WRONG_OBJECT_TYPE, reason)
                .set_hint("Detach the table from the type with ALTER TABLE ... NOT OF first.")
        } else if self.decides_partitions(is_in_partition_key) {
            self.partitioned()
        } else {
            return Ok(());
        })
    }

    /// Whether it is such a key of partitions, in its table or in one that inherits it.
    fn decides_partitions(self, is_key: fn(pg_sys::Oid, i16) -> bool) -> bool {
        heirs(self.table()).into_iter().any(|heir| is_key(heir, number_in(heir, self)))
    }

    fn partitioned(self) -> ErrorReport {
        self.refused(ERRCODE_INVALID_TABLE_DEFINITION, "The table is partitioned by it.")
            .set_hint("Create a table that has partitions for snowflake IDs, and copy the rows.")
    }

    fn of_row(row: &Row, first: usize) -> Column {
        let number = |at: usize| row[at].as_ref().expect("not NULL").parse::<u32>();
        let [of, number] = [first, first + 1].map(|at| number(at).expect("a number"));
        Column { of, number: number as i16 }
    }
}

/// What a call asks to convert.
pub enum Asked {
    Column(pg_sys::Oid, String),
    Relation(pg_sys::Oid),
    Schema(pg_sys::Oid),
}

impl Asked {
    /// The columns that are keys; those of a relation or a schema are columns of primary keys that take
    /// values of a sequence, or snowflake IDs. 42703 for a column that is not there.
    pub fn columns(&self, function: &Function) -> Result<Vec<Column>, ErrorReport> {
        let tables = match self {
            Asked::Column(relation, name) => return column(*relation, name).map(|key| vec![key]),
            Asked::Relation(relation) => vec![*relation],
            Asked::Schema(schema) => tables(*schema),
        };
        let mut keys = BTreeSet::new();
        for oid in tables {
            let table = match (self, Table::read_if_there(oid)) {
                (_, Some(table)) => table,
                (Asked::Schema(_), None) => continue,
                _ => Dropped(oid).raise(),
            };
            let is_key = |number: &i16| {
                let source = Source::of(&table, *number, Some(function));
                (source.is_sequence() || source == Source::Ids) && !is_reference(&table, *number)
            };
            for number in of_primary_key(oid).into_iter().filter(is_key) {
                keys.insert(topmost(Column::new(oid, number)));
            }
        }
        if let (true, Asked::Relation(relation)) = (keys.is_empty(), self) {
            let message = format!("{} has no key that can be converted", relation_name(*relation));
            return Err(report::new(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                .set_detail("No column of its primary key takes values of a sequence.")
                .set_hint("Name another column that does with column_name."));
        }
        Ok(keys.into_iter().collect())
    }
}

/// A column by its name, in the table that it is not inherited from.
pub fn column(relation: pg_sys::Oid, name: &str) -> Result<Column, ErrorReport> {
    let text = encode(name);
    // SAFETY: looks for the column by its name; 0 if there is none.
    let number = unsafe { pg_sys::get_attnum(relation, text.as_ptr()) };
    if number <= 0 {
        let message =
            format!("column \"{name}\" of relation {} does not exist", relation_name(relation));
        return Err(report::new(ERRCODE_UNDEFINED_COLUMN, message));
    }
    Ok(topmost(Column::new(relation, number)))
}

/// The column that this one is inherited from, or itself.
fn topmost(column: Column) -> Column {
    const TOPMOST: &str = "
        WITH RECURSIVE up(relation, name) AS (
            SELECT attrelid, attname FROM pg_attribute WHERE attrelid = $1 AND attnum = $2
            UNION
            SELECT inhparent, name
            FROM up
            JOIN pg_inherits ON inhrelid = relation
            JOIN pg_attribute ON (attrelid, attname) = (inhparent, name)
        )
        SELECT attrelid, attnum
        FROM up JOIN pg_attribute ON (attrelid, attname) = (relation, name)
        WHERE attinhcount = 0 ORDER BY attrelid";
    let arguments = [
        (Some(column.table().into()), pg_sys::OIDOID),
        (Some(column.number.into()), pg_sys::INT2OID),
    ];
    query(TOPMOST, &arguments).first().map_or(column, |row| Column::of_row(row, 0))
}

/// The tables of a schema that belong to no extension and inherit from none.
fn tables(schema: pg_sys::Oid) -> Vec<pg_sys::Oid> {
    const TABLES: &str = "
        SELECT oid FROM pg_class
        WHERE relnamespace = $1 AND relkind IN ('r', 'p') AND NOT relispartition
          AND NOT EXISTS (
              SELECT FROM pg_depend
              WHERE (classid, objid, deptype) = ('pg_class'::regclass, pg_class.oid, 'e'))
        ORDER BY oid";
    let rows = query(TABLES, &[(Some(schema.into()), pg_sys::OIDOID)]);
    let oid = |row: Row| row[0].as_ref().expect("an OID").parse::<u32>().expect("an OID").into();
    rows.into_iter().map(oid).collect()
}

/// A key that can be converted.
#[derive(Clone, Copy)]
pub struct Key {
    pub column: Column,
    pub source: Source,
}

impl Key {
    /// The key in a column, or why it cannot be converted.
    pub fn of(column: Column, function: &Function) -> Result<Key, ErrorReport> {
        const UNREADY: PgSqlErrorCode = ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
        const TABLES: [u8; 2] = [pg_sys::RELKIND_RELATION, pg_sys::RELKIND_PARTITIONED_TABLE];
        let table = Table::read(column.table());
        // SAFETY: the relation is open.
        let class = unsafe { &*table.relation.rd_rel };
        let [of, _] = column.types();
        let source = Source::of(&table, column.number, Some(function));
        let is_table = TABLES.contains(&(class.relkind as u8))
            && class.relpersistence as u8 != pg_sys::RELPERSISTENCE_TEMP;
        if is_table {
            owner_of_caller(column)?;
        }
        let refused = |sqlstate, reason: &str| column.refused(sqlstate, reason);
        Err(match source {
            _ if !is_table => refused(
                ERRCODE_WRONG_OBJECT_TYPE,
                "The relation is not a table, or it is temporary or foreign.",
            ),
            _ if !is_integer(of) => {
                refused(ERRCODE_DATATYPE_MISMATCH, &format!("It is of type {}.", type_name(of)))
            }
            _ if is_reference(&table, column.number) => {
                refused(UNREADY, "It refers to another column.")
                    .set_hint("Convert what it refers to. That makes this column bigint, too.")
            }
            Source::Computed => {
                refused(UNREADY, "Its default does more than take a value of a sequence.")
            }
            Source::Other => refused(UNREADY, "It has another default.")
                .set_hint("Change the default with ALTER TABLE."),
            _ if is_row_security_forced(&table) => refused(UNREADY, FORCED),
            _ if column.decides_partitions(is_partitioned_by) => column.partitioned(),
            _ => return Ok(Key { column, source }),
        })
    }
}

/// Whether policies hold for the owner of the table, too.
pub fn is_row_security_forced(table: &Table) -> bool {
    // SAFETY: the relation is open.
    let class = unsafe { &*table.relation.rd_rel };
    class.relrowsecurity && class.relforcerowsecurity
}

pub const FORCED: &str =
    "Row-level security is forced on the owner of the table, who might not see the largest key.";

/// The number that a column has in a table that inherits it.
pub fn number_in(heir: pg_sys::Oid, column: Column) -> i16 {
    // SAFETY: looks for the column by its number, and then by its name.
    unsafe {
        let name = pg_sys::get_attname(column.table(), column.number, false);
        pg_sys::get_attnum(heir, name)
    }
}

/// The owner of a table.
pub fn owner_of(table: pg_sys::Oid) -> pg_sys::Oid {
    of_row(table, |class| class.relowner)
}

/// An OID in a table's row of the catalog; 0 if it was dropped.
fn of_row(table: pg_sys::Oid, read: fn(&pg_sys::FormData_pg_class) -> pg_sys::Oid) -> pg_sys::Oid {
    // SAFETY: the cache is one of these rows.
    let oid = unsafe { row(RELOID, table, |row| read(&*pg_sys::GETSTRUCT(row).cast())) };
    oid.unwrap_or(pg_sys::InvalidOid)
}

/// The owner of a column's table; 42501 unless the caller has his privileges.
pub fn owner_of_caller(column: Column) -> Result<pg_sys::Oid, ErrorReport> {
    let owner = owner_of(column.table());
    // SAFETY: compares roles by their OIDs.
    if unsafe { pg_sys::has_privs_of_role(pg_sys::GetUserId(), owner) } {
        return Ok(owner);
    }
    let message = format!("must be owner of table {}", relation_name(column.table()));
    Err(report::new(ERRCODE_INSUFFICIENT_PRIVILEGE, message))
}

/// What refers to columns by foreign keys, directly or not.
#[derive(Default)]
pub struct References {
    /// The columns that refer to a column.
    referring: BTreeMap<Column, BTreeSet<Column>>,
    /// The tables that a column refers to.
    referred: BTreeMap<Column, BTreeSet<u32>>,
}

impl References {
    /// Of these columns.
    pub fn of(keys: impl IntoIterator<Item = Column>) -> References {
        let mut all = References::default();
        let mut next: Vec<Column> = keys.into_iter().collect();
        while !next.is_empty() {
            let tables: Vec<_> = next.iter().map(|column| column.table()).collect();
            let numbers: Vec<_> = next.iter().map(|column| column.number).collect();
            let arguments: [Argument; 2] = [
                (tables.into_datum(), pg_sys::OIDARRAYOID),
                (numbers.into_datum(), pg_sys::INT2ARRAYOID),
            ];
            for column in &next {
                all.referring.entry(*column).or_default();
            }
            let mut found = BTreeSet::new();
            for row in query(include_str!("references.sql"), &arguments) {
                let place: usize =
                    row[0].as_ref().and_then(|place| place.parse().ok()).expect("a place");
                let column = next[place - 1];
                if row[2].is_none() {
                    let oid =
                        row[1].as_ref().and_then(|oid| oid.parse::<u32>().ok()).expect("an OID");
                    all.referred.entry(column).or_default().insert(oid);
                } else {
                    let referring = Column::of_row(&row, 1);
                    all.referring.entry(column).or_default().insert(referring);
                    found.insert(referring);
                }
            }
            next = found.into_iter().filter(|column| !all.referring.contains_key(column)).collect();
        }
        all
    }

    /// The columns that a conversion of this key makes bigint: itself, and those that refer to it. All
    /// tables that change belong to one role whose privileges the caller has: else 42501.
    pub fn retyped(&self, key: Column) -> Result<BTreeSet<Column>, ErrorReport> {
        let mut family = BTreeSet::from([key]);
        let mut left = vec![key];
        while let Some(column) = left.pop() {
            let referring = self.referring.get(&column).into_iter().flatten();
            left.extend(referring.filter(|referring| family.insert(**referring)));
        }
        let narrow: BTreeSet<_> = family.into_iter().filter(|column| column.is_narrow()).collect();
        let owner = owner_of(key.table());
        for column in &narrow {
            column.refuse_fixed_type()?;
            for table in heirs(column.table()) {
                if owner_of(table) != owner {
                    let reason = format!(
                        "Column {} of table {} would change, which belongs to another role.",
                        column_name(column.table(), column.number),
                        relation_name(table)
                    );
                    return Err(key.refused(ERRCODE_INSUFFICIENT_PRIVILEGE, reason).set_hint(
                        "Give all tables that change the same owner, or change the column first.",
                    ));
                }
            }
        }
        Ok(narrow)
    }

    /// The tables whose foreign keys are created again if a column gets another type.
    pub fn ends(&self, column: Column) -> impl Iterator<Item = u32> {
        let referring = self.referring.get(&column).into_iter().flatten();
        let referred = self.referred.get(&column).into_iter().flatten();
        referring.map(|column| column.of).chain(referred.copied())
    }

    /// Tables in the order in which they are changed: those that refer to another one before it.
    pub fn in_order(&self, tables: &BTreeSet<u32>) -> Vec<u32> {
        let mut referring = BTreeMap::<u32, BTreeSet<u32>>::new();
        for (column, columns) in &self.referring {
            let those = columns.iter().map(|column| column.of);
            referring.entry(column.of).or_default().extend(those);
        }
        let (mut order, mut seen) = (Vec::new(), BTreeSet::new());
        for table in tables {
            // A table is in the order after all that refers to it, however deep that is.
            let mut path = vec![(*table, false)];
            while let Some((table, is_left)) = path.pop() {
                if is_left {
                    order.push(table);
                } else if seen.insert(table) {
                    path.push((table, true));
                    let those = referring.get(&table).into_iter().flatten();
                    path.extend(those.map(|table| (*table, false)));
                }
            }
        }
        order.retain(|table| tables.contains(table));
        order
    }
}
