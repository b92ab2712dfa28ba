//! Whether keys in schemas that are adopted take snowflake IDs.

use std::collections::BTreeSet;
use std::ffi::CString;

use super::facts::Facts;
use super::finding::Finding;
use crate::server::encoding::encode;
use crate::server::spi;
use crate::settings;

/// The most keys that are named.
const NAMED: usize = 5;

/// The values of `snowflake.adopted_schemas` that roles have in this database.
const OF_ROLES: &str = "
    SELECT substr(setting, 27) FROM pg_db_role_setting, unnest(setconfig) AS setting
    WHERE setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
      AND setting ^@ 'snowflake.adopted_schemas='";

/// The bigint columns of primary keys that take values of a sequence, with their schemas. Those of
/// partitions and children are those of their parents.
const KEYS: &str = "
    SELECT nspname, format('%s.%I', attrelid::regclass, attname)
    FROM pg_index JOIN pg_class AS c ON c.oid = indrelid AND relkind IN ('r', 'p')
    JOIN pg_namespace AS n ON n.oid = relnamespace AND nspname !~ '^pg_'
        AND nspname <> 'information_schema'
    JOIN pg_attribute AS a ON attrelid = indrelid AND attnum = ANY (indkey) AND attinhcount = 0
    WHERE indisprimary AND atttypid = 'bigint'::regtype
      AND (attidentity <> ''
           OR EXISTS (
               SELECT FROM pg_attrdef AS d
               JOIN pg_depend ON (classid, objid) = ('pg_attrdef'::regclass, d.oid)
               JOIN pg_class AS s ON s.oid = refobjid AND s.relkind = 'S'
               WHERE (adrelid, adnum) = (attrelid, attnum) AND refclassid = 'pg_class'::regclass))
    ORDER BY 2";

/// Whether no key is left that should have been adopted, by the setting of this session or of a role.
pub fn adoption(_: &Facts) -> Finding {
    let mut schemas: BTreeSet<CString> = settings::adopted_schemas().into_iter().collect();
    for row in spi::query(OF_ROLES, &[]) {
        let value = row.into_iter().flatten().next().unwrap_or_default();
        schemas.extend(settings::schema_names(&encode(&value)));
    }
    if schemas.is_empty() {
        return Finding::well(
            "No schema is adopted, by the settings of this session and of roles.",
        );
    }
    let is_adopted = |schema: &CString| schemas.contains(schema) || schemas.contains(c"*");
    let left: Vec<String> = spi::query(KEYS, &[])
        .into_iter()
        .filter_map(|row| {
            let [schema, key] = row.try_into().expect("two columns");
            key.filter(|_| is_adopted(&encode(&schema.unwrap_or_default())))
        })
        .collect();
    if left.is_empty() {
        return Finding::well("No bigint key in an adopted schema takes values of a sequence.");
    }
    let more = if left.len() > NAMED { ", ..." } else { "" };
    Finding::doubtful(
        format!(
            "Keys in adopted schemas that take values of a sequence: {} ({}{more}).",
            left.len(),
            left[..left.len().min(NAMED)].join(", ")
        ),
        "Convert them with snowflake_convert(), or take the schema out of snowflake.adopted_schemas.",
    )
}
