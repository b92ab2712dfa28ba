//! What the event trigger is told of a statement.

use std::ffi::{CStr, c_char};

use pgrx::{PgList, is_a, pg_sys};

use crate::server::encoding::decode;

/// A statement that was executed.
pub enum Command {
    /// It has created tables, or added columns or foreign keys to one.
    Tables {
        /// The name of the table, without the schema, unless there can be several.
        name: Option<String>,
        change: Change,
    },
    /// A schema was created, renamed or dropped, or might have been.
    SchemaIsOther {
        /// The name that the statement has given to a schema.
        new_name: Option<String>,
    },
    /// It does not concern us.
    Other,
}

/// What a statement has done to its tables.
pub enum Change {
    Created,
    /// Columns were added, or foreign keys.
    Altered {
        added_columns: Vec<String>,
        /// The columns of the foreign keys that were added by themselves, not with a column.
        referring_columns: Vec<String>,
    },
}

impl Command {
    /// `None` unless an event trigger is called.
    pub fn of(fcinfo: pg_sys::FunctionCallInfo) -> Option<Command> {
        // SAFETY: the context of a call is NULL or a node. That of an event trigger has the statement.
        unsafe {
            let context = (*fcinfo).context;
            if context.is_null() || !is_a(context, pg_sys::NodeTag::T_EventTriggerData) {
                return None;
            }
            let statement = (*context.cast::<pg_sys::EventTriggerData>()).parsetree;
            Some(Command::of_statement(statement))
        }
    }

    /// # Safety
    ///
    /// A statement as the parser makes it.
    unsafe fn of_statement(statement: *mut pg_sys::Node) -> Command {
        use pg_sys::NodeTag::*;
        // SAFETY: each type of node has its tag.
        unsafe {
            match (*statement).type_ {
                T_CreateStmt => {
                    let table = (*statement.cast::<pg_sys::CreateStmt>()).relation;
                    Command::Tables { name: Some(name((*table).relname)), change: Change::Created }
                }
                T_CreateSchemaStmt => {
                    let create = &*statement.cast::<pg_sys::CreateSchemaStmt>();
                    if !create.schemaElts.is_null() {
                        return Command::Tables { name: None, change: Change::Created };
                    }
                    // Without a name of its own, the schema has that of its owner.
                    let schema = match create.schemaname.is_null() {
                        true => pg_sys::get_rolespec_name(create.authrole),
                        false => create.schemaname,
                    };
                    Command::SchemaIsOther { new_name: Some(name(schema)) }
                }
                T_AlterTableStmt => {
                    Command::of_alter_table(&*statement.cast::<pg_sys::AlterTableStmt>())
                }
                T_RenameStmt => {
                    let rename = &*statement.cast::<pg_sys::RenameStmt>();
                    if rename.renameType != pg_sys::ObjectType::OBJECT_SCHEMA {
                        return Command::Other;
                    }
                    Command::SchemaIsOther { new_name: Some(name(rename.newname)) }
                }
                T_DropStmt | T_DropOwnedStmt => Command::SchemaIsOther { new_name: None },
                _ => Command::Other,
            }
        }
    }

    /// # Safety
    ///
    /// As above.
    unsafe fn of_alter_table(statement: &pg_sys::AlterTableStmt) -> Command {
        let (mut added_columns, mut referring_columns) = (Vec::new(), Vec::new());
        // SAFETY: the list consists of such nodes, and what they define is a node. A name is NULL or a
        // string.
        unsafe {
            let changes = PgList::<pg_sys::AlterTableCmd>::from_pg(statement.cmds);
            // A column that IF NOT EXISTS has found, and that another part of the statement changes,
            // looks as if it were new.
            let is_changed = |column: &str| {
                let named = changes.iter_ptr().filter(|change| !(**change).name.is_null());
                named.map(|change| name((*change).name)).any(|changed| changed == column)
            };
            for change in changes.iter_ptr() {
                let definition = (*change).def;
                match (*change).subtype {
                    pg_sys::AlterTableType::AT_AddColumn => {
                        let column = definition.cast::<pg_sys::ColumnDef>();
                        let column = name((*column).colname);
                        if !((*change).missing_ok && is_changed(&column)) {
                            added_columns.push(column);
                        }
                    }
                    pg_sys::AlterTableType::AT_AddConstraint => {
                        let constraint = &*definition.cast::<pg_sys::Constraint>();
                        if constraint.contype == pg_sys::ConstrType::CONSTR_FOREIGN {
                            let columns = PgList::<pg_sys::String>::from_pg(constraint.fk_attrs);
                            let names = columns.iter_ptr().map(|column| name((*column).sval));
                            referring_columns.extend(names);
                        }
                    }
                    _ => {}
                }
            }
        }
        if added_columns.is_empty() && referring_columns.is_empty() {
            return Command::Other;
        }
        // SAFETY: the statement names a table.
        let table = unsafe { name((*statement.relation).relname) };
        let change = Change::Altered { added_columns, referring_columns };
        Command::Tables { name: Some(table), change }
    }
}

/// # Safety
///
/// A string.
unsafe fn name(name: *const c_char) -> String {
    // SAFETY: the caller's promise.
    decode(unsafe { CStr::from_ptr(name) })
}
