//! The check that keys in adopted schemas take snowflake IDs, and that columns which refer to them
//! can hold these.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;

use pgrx::pg_sys;

use super::facts::Facts;
use super::finding::Finding;
use crate::pg::encoding::{decode, encode};
use crate::pg::library_function::LibraryFunction;
use crate::pg::spi;
use crate::settings;

/// The most columns that are named.
const NAMED: usize = 5;

/// The values of `snowflake.adopted_schemas` that are set for roles or for all in this database:
/// the role or 0, whose it is, and whether it counts where it names a schema that does not exist.
/// That of a role that cannot create tables here does not, so that she cannot make the check fail
/// for others.
const SETTINGS: &str = "
    SELECT setrole,
        CASE WHEN setrole <> 0 THEN concat('role ', setrole::regrole)
             WHEN setdatabase = 0 THEN 'all roles' ELSE 'the database' END,
        setrole = 0 OR has_database_privilege(setrole, current_database(), 'CREATE') OR EXISTS (
            SELECT FROM pg_namespace
            WHERE nspname !~ '^pg_' AND has_schema_privilege(setrole, oid, 'CREATE')),
        substr(setting, 27)
    FROM pg_db_role_setting, unnest(setconfig) AS setting
    WHERE setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
      AND setting ^@ 'snowflake.adopted_schemas='
    ORDER BY 2";

/// The keys that take values of a sequence or IDs, and the columns that cannot hold the IDs that
/// they take or refer to, each with its kind, the schema of the key, and a role whose setting
/// counts there: 0, and each that could create the table. The keys of partitions are those of their
/// tables.
const COLUMNS: &str = "
    WITH
    -- a row: a column whose default is snowflake_nextval(), and whether it is too narrow
    ids AS (
        SELECT attrelid, attnum, typlen IN (2, 4) AS is_narrow
        FROM pg_depend JOIN pg_attrdef AS d ON d.oid = objid
        JOIN pg_attribute ON (attrelid, attnum) = (adrelid, adnum) JOIN pg_type AS t ON t.oid = atttypid
        WHERE (classid, refclassid, refobjid) = ('pg_attrdef'::regclass, 'pg_proc'::regclass, $1)),
    -- a row: a column of a primary key that takes values of a sequence or IDs
    keys AS (
        SELECT a.attrelid AS key_relation, a.attrelid, a.attname,
            CASE WHEN ids.attrelid IS NOT NULL THEN 'ids'
                 WHEN atttypid = 'bigint'::regtype THEN 'sequence' ELSE 'other' END AS kind
        FROM pg_constraint JOIN pg_attribute AS a ON a.attrelid = conrelid AND a.attnum = ANY (conkey)
        LEFT JOIN ids ON (ids.attrelid, ids.attnum) = (a.attrelid, a.attnum)
        LEFT JOIN pg_attrdef ON (adrelid, adnum) = (a.attrelid, a.attnum) AND attgenerated = ''
        WHERE contype = 'p'
          AND (attidentity <> '' OR ids.attrelid IS NOT NULL OR adbin::text LIKE '%:funcid 1574 %')),
    -- a row: a column that cannot hold the IDs of this key
    narrow AS (
        SELECT attrelid AS key_relation, attrelid, attnum FROM ids WHERE is_narrow
        UNION
        SELECT confrelid, conrelid, own FROM pg_constraint, unnest(conkey, confkey) AS pair (own, other),
            ids, pg_attribute AS a JOIN pg_type AS t ON t.oid = atttypid
        WHERE contype = 'f' AND conparentid = 0 AND (ids.attrelid, ids.attnum) = (confrelid, other)
          AND (a.attrelid, a.attnum) = (conrelid, own) AND typlen IN (2, 4)),
    -- a row: one of these
    columns AS (
        SELECT * FROM keys
        UNION ALL
        SELECT key_relation, attrelid, attname, 'narrow'
        FROM narrow JOIN pg_attribute USING (attrelid, attnum))
    SELECT role, kind, nspname, format('%s.%I', attrelid::regclass, attname)
    FROM columns JOIN pg_class AS c ON c.oid = key_relation JOIN pg_namespace AS n ON n.oid = relnamespace,
        (SELECT 0::oid UNION SELECT setrole FROM pg_db_role_setting) AS roles (role)
    WHERE relkind IN ('r', 'p') AND NOT relispartition
      AND nspname !~ '^pg_' AND nspname <> 'information_schema'
      AND (role = 0
           OR pg_has_role(role, relowner, 'MEMBER') AND has_schema_privilege(role, relnamespace, 'CREATE'))
    ORDER BY 4";

/// A value of `snowflake.adopted_schemas`.
struct Setting {
    /// The OID of the role, or 0.
    role: String,
    whose: String,
    /// True if it counts where it names a schema that does not exist.
    counts: bool,
    schemas: BTreeSet<CString>,
}

impl Setting {
    fn all() -> Vec<Setting> {
        let schemas = settings::adopted_schemas().into_iter().collect();
        let own = Setting { role: "0".into(), whose: "this session".into(), counts: true, schemas };
        let others = spi::query(SETTINGS, &[]).into_iter().map(|row| {
            let (role, whose, counts, value): (String, String, bool, String) = row;
            let schemas = settings::schema_names(&encode(&value)).into_iter().collect();
            Setting { role, whose, counts, schemas }
        });
        std::iter::once(own).chain(others).filter(|setting| !setting.schemas.is_empty()).collect()
    }

    fn names(&self, schema: &CString) -> bool {
        self.schemas.contains(schema) || self.schemas.contains(c"*")
    }

    /// The schemas that do not exist, and whose setting it is.
    fn missing(&self) -> impl Iterator<Item = String> {
        let is_missing = |schema: &&CString| {
            // SAFETY: looks for the schema by its name.
            let oid = || unsafe { pg_sys::get_namespace_oid(schema.as_ptr(), true) };
            self.counts && schema.as_c_str() != c"*" && oid() == pg_sys::InvalidOid
        };
        let missing = self.schemas.iter().filter(is_missing);
        missing.map(|schema| format!("{} ({})", decode(schema), self.whose))
    }
}

/// Columns of one kind, and whose settings adopt them.
#[derive(Default)]
struct Columns<'a> {
    names: BTreeSet<String>,
    whose: BTreeSet<&'a str>,
}

impl Columns<'_> {
    fn describe(&self, what: &str) -> String {
        let first =
            self.names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = if self.names.len() > NAMED { ", ..." } else { "" };
        let whose = self.whose.iter().copied().collect::<Vec<_>>().join(" and ");
        format!("{what}: {} ({first}{more}), by the setting of {whose}.", self.names.len())
    }
}

/// Checks that no key is left that should have been adopted, by the setting of this session or of a
/// role; that no column is too narrow for adopted ones; and that the schemas exist.
pub fn adoption(_: &Facts) -> Finding {
    let settings = Setting::all();
    let mut kinds = BTreeMap::<String, Columns>::new();
    if !settings.is_empty() {
        for row in spi::query(COLUMNS, &[LibraryFunction::argument("snowflake_nextval")]) {
            let (role, kind, schema, column): (String, String, String, String) = row;
            let schema = encode(&schema);
            for setting in &settings {
                if setting.role == role && setting.names(&schema) {
                    let columns = kinds.entry(kind.clone()).or_default();
                    columns.names.insert(column.clone());
                    columns.whose.insert(&setting.whose);
                }
            }
        }
    }
    let missing: Vec<_> = settings.iter().flat_map(Setting::missing).collect();
    if kinds.is_empty() && settings.iter().all(|setting| !setting.counts) {
        return Finding::well(
            "No schema is adopted, by the settings of this session and of roles that create \
             tables.",
        );
    }
    let mut take = |kind| kinds.remove(kind).unwrap_or_default();
    let (ids, left, others, narrow) =
        (take("ids"), take("sequence"), take("other"), take("narrow"));
    let [adopted, other] = [&ids, &others].map(|columns| columns.names.len());
    let all = adopted + other + left.names.len();
    let mut detail = format!(
        "Keys in adopted schemas: {all}, with snowflake IDs: {adopted}, not bigint: {other}."
    );
    let mut hints = Vec::new();
    if !left.names.is_empty() {
        detail = format!("{detail} {}", left.describe("Keys that take values of a sequence"));
        hints.push(
            "Execute what snowflake_conversion() prints for the keys, or take the schema out of \
             snowflake.adopted_schemas.",
        );
    }
    if !narrow.names.is_empty() {
        detail = format!("{detail} {}", narrow.describe("Columns that cannot hold the IDs"));
        hints.push("Make the columns bigint.");
    }
    if !missing.is_empty() {
        detail = format!("{detail} Schemas that do not exist: {}.", missing.join(", "));
        hints.push("Correct the name, or set it for the database that has the schema.");
    }
    match hints.is_empty() {
        true => Finding::well(detail),
        false => Finding::doubtful(detail, &hints.join(" ")),
    }
}
