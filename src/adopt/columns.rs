//! What a statement has made that concerns the adoption of a schema, and what becomes of it.

use pgrx::prelude::*;

use super::attempt::{attempt, warn};
use super::command::Change;
use super::schemas;
use crate::convert::{Keys, NotConverted, Obstacle, convert_if_empty};
use crate::server::catalog::{Argument, Path, PlannedQuery, as_owner, execute, query};
use crate::server::own_table::{text, texts};
use crate::server::patience::Patience;
use crate::server::report;

/// A row: a table of an adopted schema that the statement has created or changed, its name, the keys
/// that are converted there, and the schema of the extension snowflake.
const TABLES: &str = "
    SELECT DISTINCT c.oid, format('%I.%I', n.nspname, c.relname), a.keys, of_extension.nspname
    FROM pg_event_trigger_ddl_commands() AS d
    JOIN pg_class AS c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    JOIN snowflake_adopt_internal.adopted_schemas AS a ON a.schema = n.nspname
    JOIN pg_extension AS e ON e.extname = 'snowflake'
    JOIN pg_namespace AS of_extension ON of_extension.oid = e.extnamespace
    WHERE NOT d.in_extension AND c.relkind IN ('r', 'p') AND c.relpersistence <> 't'
    ORDER BY c.oid";

/// A row: the owner of a sequence that a column owns and that is no `bigint`, and the statement that
/// makes it one.
const NARROW_SEQUENCE: &str = "
    SELECT s.relowner::oid, format('ALTER SEQUENCE %I.%I AS bigint', n.nspname, s.relname)
    FROM pg_depend AS d
    JOIN pg_class AS s ON s.oid = d.objid AND s.relkind = 'S'
    JOIN pg_namespace AS n ON n.oid = s.relnamespace
    JOIN pg_sequence AS q ON q.seqrelid = s.oid AND q.seqtypid <> 'bigint'::regtype
    JOIN pg_attribute AS a ON (a.attrelid, a.attnum) = (d.refobjid, d.refobjsubid)
    WHERE (d.classid, d.refclassid, d.deptype) = ('pg_class'::regclass, 'pg_class'::regclass, 'a')
      AND (d.refobjid, a.attname) = ($1, $2)";

thread_local! {
    static CHANGED_TABLES: PlannedQuery = const { PlannedQuery::new(TABLES) };
}

/// A table of an adopted schema.
struct Table {
    relation: pg_sys::Oid,
    name: String,
    /// `primary` or `all`.
    keys: String,
    /// The schema of the extension snowflake.
    own_schema: String,
}

/// A column that concerns us.
struct Column {
    name: String,
    part: Part,
}

enum Part {
    /// It takes values of a sequence, and is not converted if there is a reason.
    Key { reason_to_stay: Option<String> },
    /// It is an integer, and refers to a key that is converted, directly or not.
    Reference { table: String, key: String },
}

/// Converts what a statement has made, in a table of this name if it is known.
pub fn look_at(function: pg_sys::Oid, name: Option<&str>, change: &Change) {
    if !schemas::can_be_read() {
        return;
    }
    let tables = attempt(|| {
        if name.is_some_and(schemas::are_without) {
            return Ok::<_, Obstacle>(Vec::new());
        }
        Ok(CHANGED_TABLES.with(|tables| tables.rows(&[])))
    });
    let mut left = Vec::new();
    match tables {
        Ok(tables) => {
            let patience = Patience::new();
            for table in tables.into_iter().map(Table::from) {
                table.look_at(function, change, &patience, &mut left);
            }
        }
        Err(obstacle) => warn("the tables of the statement could not be looked at", obstacle),
    }
    if !left.is_empty() {
        let notice = report::message("not all new keys were converted to snowflake IDs");
        report::send(notice.set_detail(left.join("\n")), PgLogLevel::NOTICE);
    }
}

impl From<Vec<Option<String>>> for Table {
    fn from(row: Vec<Option<String>>) -> Table {
        let mut fields = row.into_iter().map(|field| field.expect("not NULL"));
        let mut next = || fields.next().expect("a column");
        Table {
            relation: pg_sys::Oid::from(next().parse::<u32>().expect("an OID")),
            name: next(),
            keys: next(),
            own_schema: next(),
        }
    }
}

impl Table {
    fn look_at(
        &self,
        function: pg_sys::Oid,
        change: &Change,
        patience: &Patience,
        left: &mut Vec<String>,
    ) {
        let columns = match attempt(|| Ok::<_, Obstacle>(self.columns(change))) {
            Ok(columns) => columns,
            Err(obstacle) => {
                return warn(&format!("table {} could not be looked at", self.name), obstacle);
            }
        };
        for Column { name, part } in columns {
            let mut leave = |reason: &str| {
                left.push(format!("Column {name} of table {}: {reason}.", self.name));
            };
            if let Part::Key { reason_to_stay: Some(reason) } = part {
                leave(&reason);
                continue;
            }
            let only_refers = matches!(part, Part::Reference { .. });
            let convert = || {
                let (schema, relation) = (&self.own_schema, self.relation);
                let keys = Keys::of_column(function, schema, relation, &name, only_refers);
                convert_if_empty(keys, patience)?;
                if !only_refers {
                    self.widen_sequence(&name);
                }
                Ok(())
            };
            match (attempt(convert), part) {
                (Ok(()), _) => {}
                (Err(NotConverted::HasRows), Part::Key { .. }) => leave("the table has rows"),
                (Err(NotConverted::HasRows), Part::Reference { table, key }) => {
                    self.warn_of_reference(&name, &table, &key, "the table has rows");
                }
                (Err(NotConverted::Obstacle(obstacle)), Part::Key { .. })
                    if is_denied(&obstacle) =>
                {
                    leave(&obstacle.message);
                }
                (Err(NotConverted::Obstacle(obstacle)), Part::Reference { table, key })
                    if is_denied(&obstacle) =>
                {
                    self.warn_of_reference(&name, &table, &key, &obstacle.message);
                }
                (Err(NotConverted::Obstacle(obstacle)), _) => {
                    let table = &self.name;
                    let what = format!(
                        "column {name} of table {table} could not be converted to snowflake IDs"
                    );
                    warn(&what, obstacle);
                }
            }
        }
    }

    fn columns(&self, change: &Change) -> Vec<Column> {
        let [added, referring]: [Argument; 2] = match change {
            Change::Created => [(None, pg_sys::TEXTOID); 2],
            Change::Altered { added_columns, referring_columns } => {
                [added_columns, referring_columns].map(|names| texts(names))
            }
        };
        let relation = (Some(self.relation.into()), pg_sys::OIDOID);
        query(include_str!("columns.sql"), &[relation, text(&self.keys), added, referring])
            .into_iter()
            .filter_map(|row| {
                let [kind, name, table, key, reason, made_by, _] =
                    row.try_into().expect("as many columns as the query has");
                // ADD COLUMN IF NOT EXISTS might have found that the column exists.
                made_by.is_none_or(|made_by| is_of_this(&made_by)).then_some(())?;
                let part = match kind.as_deref() {
                    Some("key") => Part::Key { reason_to_stay: reason },
                    _ => Part::Reference {
                        table: table.expect("a table"),
                        key: key.expect("a column"),
                    },
                };
                Some(Column { name: name.expect("a name"), part })
            })
            .collect()
    }

    /// Makes the sequence that a key has kept a `bigint`, so that it can hold snowflake IDs.
    /// Frameworks that load rows with their keys set the sequence to the greatest key afterwards,
    /// as Rails does after fixtures.
    fn widen_sequence(&self, column: &str) {
        let relation = (Some(self.relation.into()), pg_sys::OIDOID);
        for row in query(NARROW_SEQUENCE, &[relation, text(column)]) {
            let [owner, statement] = row.try_into().expect("as many columns as the query has");
            let owner = owner.and_then(|owner| owner.parse::<u32>().ok()).expect("an OID");
            let statement = statement.expect("a statement");
            as_owner(pg_sys::Oid::from(owner), || execute(&statement, &Path::catalog()));
        }
    }

    fn warn_of_reference(&self, column: &str, table: &str, key: &str, reason: &str) {
        let literal = |text: &str| format!("'{}'", text.replace('\'', "''"));
        let warning = report::message(format!(
            "column {column} of table {} cannot hold the snowflake IDs that it refers to",
            self.name
        ))
        .set_detail(format!(
            "It is an integer, and {reason}. An INSERT that refers to a new row of {table} fails, because \
             the ID is out of range for an integer."
        ))
        .set_hint(format!(
            "Convert it with SELECT * FROM snowflake_convert({}, {}, validate => true, dry_run => false).",
            literal(table),
            literal(key)
        ));
        report::send(warning, PgLogLevel::WARNING);
    }
}

/// Whether a row was written by this transaction, or by a subtransaction that was not rolled back.
fn is_of_this(transaction: &str) -> bool {
    let transaction = transaction.parse::<u32>().expect("a transaction ID");
    // SAFETY: any number may be asked for.
    unsafe { pg_sys::TransactionIdIsCurrentTransactionId(transaction.into()) }
}

/// Whether the rule of one owner, or the lack of a privilege, prevents a conversion.
fn is_denied(obstacle: &Obstacle) -> bool {
    obstacle.sqlstate == PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE
}
