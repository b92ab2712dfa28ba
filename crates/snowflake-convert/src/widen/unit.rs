//! The columns that a call is for, and who calls.

use pgrx::prelude::*;
use snowflake_server::encoding::text_array_argument;
use snowflake_server::settings::Path;
use snowflake_server::spi::{Argument, PlannedQuery, query, text};

use super::expressions::with_shadows;
use crate::keys::Keys;
use crate::obstacle::{Obstacle, wrong_argument};
use crate::plan::{Direction, Plan};
use crate::rows::{fields, oid};
use crate::trust::{Names, Owner, schemas_of_session};

/// A key, the columns that hold its values, and what the caller says of them.
pub struct Unit {
    pub plan: Plan,
    relation: pg_sys::Datum,
    /// The schema of the extension `snowflake_convert`.
    ours: String,
    /// The publications that may hold the tables, and the triggers that the backfill may fire.
    allowed: [Argument; 2],
    /// The columns that were named beside the key.
    also: Argument,
}

impl Unit {
    /// The unit of a call, whose arguments are the relation and, by these numbers, the columns beside
    /// its key, publications and triggers.
    ///
    /// # Safety
    ///
    /// The call has these arguments, and none of them is NULL.
    pub unsafe fn of(
        fcinfo: pg_sys::FunctionCallInfo,
        [also, publications, triggers]: [usize; 3],
    ) -> Result<Unit, Obstacle> {
        const OURS: &str = "
            SELECT nspname FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = pronamespace
            WHERE p.oid = $1";
        // SAFETY: the caller's promise. PostgreSQL says which function it calls.
        let (relation, columns, also, publications, triggers, function) = unsafe {
            let argument = |number| pgrx::fcinfo::pg_getarg_datum_raw(fcinfo, number);
            let function = (*(*fcinfo).flinfo).fn_oid;
            let columns = text_array_argument(fcinfo, also);
            let also = argument(also);
            (argument(0), columns, also, argument(publications), argument(triggers), function)
        };
        let [ours] = fields(query(OURS, &[(Some(function.into()), pg_sys::OIDOID)]).swap_remove(0));
        let mut keys = Keys::new(Some(relation), None, None)?;
        if let Some(column) = key_of(relation) {
            keys = keys.with_column(&column);
        }
        let columns: Result<Vec<String>, Obstacle> = columns.iter().map(named_beside).collect();
        let columns = [columns?, with_shadows_of(relation)].concat();
        Ok(Unit {
            plan: Plan {
                keys: keys.with_columns(&columns.join(" ")),
                direction: Direction::Convert,
                recreate: true,
                validate: false,
                is_report: false,
                with_functions: false,
                acknowledged: None,
            },
            relation,
            ours: ours.expect("a schema"),
            allowed: [
                (Some(publications), pg_sys::NAMEARRAYOID),
                (Some(triggers), pg_sys::TEXTARRAYOID),
            ],
            also: (Some(also), pg_sys::TEXTARRAYOID),
        })
    }

    /// The arguments of the queries of this directory.
    pub fn arguments(&self) -> Vec<Argument> {
        let plan = self.plan.arguments(None);
        [&plan[..], &[text(&self.ours)], &self.allowed].concat()
    }

    /// The same, with a position in the backfill.
    pub fn arguments_of_fill(&self, position: i64) -> Vec<Argument> {
        [self.arguments(), vec![(Some(position.into()), pg_sys::INT8OID)]].concat()
    }

    /// The same, with expressions and the columns beside the key.
    pub fn arguments_of_steps(&self, position: i64) -> Vec<Argument> {
        let arguments = self.arguments_of_fill(position);
        [&arguments[..], &with_shadows(&self.arguments()), &[self.also]].concat()
    }

    /// The table whose key it is.
    pub fn relation(&self) -> pg_sys::Oid {
        pg_sys::Oid::from(self.relation.value() as u32)
    }

    /// The role that owns the table, if the caller has its rights.
    pub fn owner(&self) -> Option<Owner> {
        const OWNER: &str = "SELECT relowner FROM pg_class WHERE oid = $1";
        let row = query(OWNER, &[(Some(self.relation), pg_sys::REGCLASSOID)]).pop()?;
        let [owner] = fields(row);
        Owner::of_caller(oid(owner?)).ok()
    }

    /// The name of the table.
    pub fn name(&self) -> String {
        let names = Names::of(&[self.relation()]);
        names.iter().next().map_or_else(String::new, |(_, name)| name.into())
    }

    /// 42501 unless the session is one of the owner's, and looks names up only where nobody else puts
    /// objects: the statements are executed with all rights of the session. 55000 if a backslash in a
    /// literal means something.
    pub fn check_session(&self) -> Result<(), Obstacle> {
        const OWNER: &str = "
            SELECT relowner, pg_get_userbyid(relowner),
                   rolname = session_user AND session_user = current_user,
                   CASE WHEN rolcanlogin THEN format('Connect as %I.', rolname)
                        ELSE format('Connect as %1$I after ALTER ROLE %1$I LOGIN, or execute the '
                                    'statements by hand after SET SESSION AUTHORIZATION %1$I.', rolname)
                   END
            FROM pg_class LEFT JOIN pg_roles AS r ON r.oid = relowner WHERE pg_class.oid = $1";
        const SCHEMAS: &str = "
            SELECT nspname FROM unnest($1::oid[]) WITH ORDINALITY AS of_session (oid, place)
            JOIN pg_namespace USING (oid) WHERE nspname !~ '^pg_' ORDER BY place";
        let Some(row) = query(OWNER, &[(Some(self.relation), pg_sys::REGCLASSOID)]).pop() else {
            return Ok(());
        };
        let [owner, name, is_owner, hint] = fields(row);
        let name = name.expect("a name");
        if is_owner.as_deref() != Some("t") {
            return Err(Obstacle {
                detail: Some(
                    "The statements are executed with all rights of the session, and run code of the \
                     owner, such as triggers and expressions of indexes."
                        .into(),
                ),
                hint,
                ..Obstacle::denied(format!("the session is not one of the tables' owner \"{name}\""))
            });
        }
        let role = oid(owner.expect("an OID"));
        let schemas = query(SCHEMAS, &[schemas_of_session()]).into_iter().flatten().flatten();
        if Path::through(&schemas.collect::<Vec<_>>()) != Owner::of_caller(role)?.path {
            return Err(Obstacle {
                detail: Some(
                    "A name in a statement could be that of an operator or a function there."
                        .into(),
                ),
                hint: Some(
                    "Execute SET search_path = pg_catalog, and qualify this function.".into(),
                ),
                ..Obstacle::denied(format!(
                    "others than \"{name}\" can create objects in a schema of search_path"
                ))
            });
        }
        // SAFETY: the setting exists, and its value is a string.
        let conforms = unsafe {
            let name = c"standard_conforming_strings".as_ptr();
            std::ffi::CStr::from_ptr(pg_sys::GetConfigOption(name, false, false))
        };
        match conforms == c"on" {
            true => Ok(()),
            false => Err(Obstacle {
                sqlstate: PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                object: String::new(),
                message: "standard_conforming_strings is off".into(),
                detail: Some("Literals of the statements would be read otherwise.".into()),
                hint: Some("Execute SET standard_conforming_strings = on.".into()),
            }),
        }
    }
}

/// The key of a table: its primary key, else a column that takes values of a sequence.
fn key_of(relation: pg_sys::Datum) -> Option<String> {
    const KEY: &str = "
        SELECT attname
        FROM pg_attribute AS a
        LEFT JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum)
        LEFT JOIN pg_index ON indrelid = attrelid AND indisprimary AND attnum = ANY (indkey),
             LATERAL (
                 SELECT attidentity <> '' OR coalesce(pg_get_expr(adbin, adrelid) LIKE 'nextval(%', false)
             ) AS takes (takes_sequence)
        WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped
          AND atttypid IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype)
          AND (indnkeyatts = 1 OR takes_sequence)
        ORDER BY coalesce(indnkeyatts = 1, false) DESC, indrelid IS NULL, attnum
        LIMIT 1";
    let row = query(KEY, &[(Some(relation), pg_sys::REGCLASSOID)]).pop()?;
    let [name] = fields(row);
    name
}

/// The query that finds the columns that have got shadows for a table's key, as `keys.sql` takes them.
/// Only the owner of the table says so: others can give their checks any name.
const WITH_SHADOWS: &str = "
    SELECT format('%s:%s', conrelid, attnum)
    FROM pg_constraint
    JOIN pg_class AS c ON c.oid = conrelid
    JOIN pg_attribute ON attrelid = conrelid AND attnum = ANY (conkey)
    WHERE conname LIKE 'snowflake\\_widen\\_same\\_%'
      AND conname ~ ('_' || $1::oid || '$')
      AND contype = 'c'
      AND relowner = (SELECT relowner FROM pg_class WHERE oid = $1)
      AND atttypid IN ('smallint'::regtype, 'integer'::regtype)";

thread_local! {
    // Asked in each call, and so for each range of the backfill.
    static WITH_SHADOWS_QUERY: PlannedQuery = const { PlannedQuery::new(WITH_SHADOWS) };
}

fn with_shadows_of(relation: pg_sys::Datum) -> Vec<String> {
    let argument = (Some(relation), pg_sys::REGCLASSOID);
    let rows = WITH_SHADOWS_QUERY.with(|query| query.rows_of(&[argument]));
    rows.into_iter().flatten().flatten().collect()
}

/// A column that is named beside the key, such as `orders_log.order_id`, as `keys.sql` takes it.
fn named_beside(name: &Option<String>) -> Result<String, Obstacle> {
    const COLUMN: &str = "
        SELECT format('%s:%s', attrelid, attnum)
        FROM (SELECT parse_ident($1)) AS parsed (names)
        CROSS JOIN LATERAL (
            SELECT c.oid
            FROM pg_class AS c
            JOIN pg_namespace AS n ON n.oid = relnamespace
            LEFT JOIN unnest($2::text::oid[]) WITH ORDINALITY AS of_session (oid, place)
                ON of_session.oid = n.oid
            WHERE relname = names[cardinality(names) - 1]
              AND CASE cardinality(names) WHEN 2 THEN place IS NOT NULL WHEN 3 THEN nspname = names[1] END
            ORDER BY place
            LIMIT 1
        ) AS c
        JOIN pg_attribute ON attrelid = c.oid AND attname = names[cardinality(names)] AND attnum > 0
        WHERE atttypid IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype)";
    let hint = "Name an integer column with its table, as in orders_log.order_id, and with the schema \
                unless search_path has it, as in shop.orders_log.order_id.";
    let name = name.as_deref().unwrap_or_default();
    let found = query(COLUMN, &[text(name), schemas_of_session()]).pop();
    let [key] = fields(found.ok_or_else(|| {
        wrong_argument(format!("invalid value for argument \"also\": \"{name}\""), hint)
    })?);
    Ok(key.expect("a column"))
}
