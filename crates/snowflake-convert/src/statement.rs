//! A statement, which runs as the owner of the conversion.

use pgrx::pg_sys::panic::CaughtError;
use pgrx::prelude::*;
use snowflake_server::settings::Path;
use snowflake_server::spi::{self, query};
use snowflake_server::subtransaction::message_of;
use snowflake_server::user;

use super::obstacle::Obstacle;
use super::rows::{fields, words};
use super::trust::Owner;

/// What a statement is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// It converts keys.
    Convert,
    /// It creates a function again with parameters and results of bigint, and is for a person to
    /// read before.
    Functions,
    /// It validates a foreign key after the transaction.
    Validate,
    /// It reverts keys.
    Revert,
}

impl Step {
    pub fn name(self) -> &'static str {
        match self {
            Step::Convert => "convert",
            Step::Functions => "functions",
            Step::Validate => "validate",
            Step::Revert => "revert",
        }
    }
}

words! {
    /// When a statement of a step, or of a swap, is executed: in this order.
    Moment {
        Lock = "lock",
        // The trigger that copies keys to their shadows.
        DropCopying = "drop copying",
        DropDependents = "drop dependents",
        DropForeignKeys = "drop foreign keys",
        WidenFormerSequence = "widen former sequence",
        DropDefault = "drop default",
        SetNotNull = "set not null",
        CreateSequence = "create sequence",
        // Before the identity goes with the former sequence.
        CopySequence = "copy sequence",
        DropIdentity = "drop identity",
        // Of shadows, which do not have the names of the columns yet.
        AddIdentity = "add identity",
        HandOverSequence = "hand over sequence",
        AlterTable = "alter table",
        AlterHeirs = "alter heirs",
        DropColumns = "drop columns",
        RenameColumns = "rename columns",
        RenameIndexes = "rename indexes",
        AlterIndexes = "alter indexes",
        RenameConstraints = "rename constraints",
        RenameStatistics = "rename statistics",
        WidenSequence = "widen sequence",
        // After the identity came with the new sequence.
        CopyBack = "copy back",
        DropSequence = "drop sequence",
        RenameSequence = "rename sequence",
        OwnSequence = "own sequence",
        RaiseSequence = "raise sequence",
        AddForeignKeys = "add foreign keys",
        SetTriggers = "set triggers",
        CompileFunctions = "compile functions",
        SetProperties = "set properties",
        CreateDependents = "create dependents",
        // From here on, what was created again is evaluated.
        FinishDependents = "finish dependents",
        RefreshViews = "refresh views",
        ValidateForeignKeys = "validate foreign keys",
    }
}

/// A statement to execute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    pub step: Step,
    pub text: String,
    /// Whether what it changes is temporary.
    pub is_temporary: bool,
    /// Whether it was made to be executed with the catalog alone in `search_path`, like those of a
    /// dump. The others might run code of the owner, which might depend on the path of the session.
    pub is_qualified: bool,
}

impl Statement {
    pub fn execute(&self, owner: &Owner) {
        let path = if self.is_qualified { &Path::catalog() } else { &owner.path };
        let execute = || spi::execute(&self.text, path);
        if self.is_temporary {
            user::as_owner_of_temporary(owner.role, execute);
        } else {
            user::as_owner(owner.role, execute);
        }
    }

    /// Executes what creates a dependent again. The definition might not fit the new types:
    /// PostgreSQL finds no function that takes an integer for a bigint.
    pub fn create_again(&self, owner: &Owner) -> Result<(), Obstacle> {
        PgTryBuilder::new(|| {
            self.execute(owner);
            Ok(())
        })
        .catch_others(|error| match &error {
            CaughtError::PostgresError(report) if is_misfit(report.sql_error_code()) => {
                Err(Obstacle {
                    sqlstate: report.sql_error_code(),
                    object: String::new(),
                    message: "an object that depends on a converted column cannot be created \
                            again"
                        .into(),
                    detail: Some(format!(
                        "This statement fails with \"{}\": {}",
                        message_of(&error),
                        self.text
                    )),
                    hint: Some(
                        "Create functions or aggregates of the same names that take a bigint, \
                             or drop the object before the conversion."
                            .into(),
                    ),
                })
            }
            _ => error.rethrow(),
        })
        .execute()
    }
}

/// Whether a SQLSTATE is that of a definition that does not fit: one of the class of syntax errors
/// and missing objects, but no missing privilege.
fn is_misfit(sqlstate: PgSqlErrorCode) -> bool {
    let class = |code: PgSqlErrorCode| code as i32 & 0xfff;
    class(sqlstate) == class(PgSqlErrorCode::ERRCODE_SYNTAX_ERROR)
        && sqlstate != PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE
}

/// The first statement of each step: it fails where a session executes the statements that has other
/// rights than the owner of what they change. They name objects that this owner can replace, and
/// which would then run the owner's code with the rights of the session. It also fails where
/// backslashes in literals mean something.
pub fn session_check(owner: pg_sys::Oid) -> String {
    const CHECK: &str = "
        SELECT format('DO LANGUAGE plpgsql %L;', format(
            $check$BEGIN IF session_user OPERATOR(pg_catalog.<>) %L \
            OR pg_catalog.current_setting('standard_conforming_strings') \
            OPERATOR(pg_catalog.<>) 'on' \
            THEN RAISE insufficient_privilege USING MESSAGE = %L, DETAIL = %L, HINT = %L; \
            END IF; END$check$,
            name, 'permission denied to execute statements of a conversion',
            format(
                'They can be executed only in a session of role %I '
                'with standard_conforming_strings on.',
                name),
            format(
                'In any other session, use snowflake_convert_execute(statements, %L).',
                quote_ident(name))))
        FROM pg_get_userbyid($1) AS name";
    let row = query(CHECK, &[(Some(owner.into()), pg_sys::OIDOID)]).swap_remove(0);
    let [check] = fields(row);
    check.expect("a statement")
}

/// Whether a statement is one of these, of any release: statements are kept, and the hint has changed.
/// That of an owner with a backslash in the name is a literal with escapes.
fn is_session_check(text: &str) -> bool {
    const BEGINNINGS: [&str; 2] = ["DO LANGUAGE plpgsql '", "DO LANGUAGE plpgsql E'"];
    let code = BEGINNINGS.iter().find_map(|beginning| text.strip_prefix(beginning));
    code.is_some_and(|code| code.starts_with("BEGIN IF session_user OPERATOR(pg_catalog.<>) "))
}

/// Executes statements that a conversion or a reversion has returned, as the owner of what they
/// change. The statement that checks the session is left out: the owner's rights are all that the
/// others have.
pub fn execute_all(owner: &Owner, statements: impl IntoIterator<Item = String>) {
    for text in statements.into_iter().filter(|text| !is_session_check(text)) {
        let statement =
            Statement { step: Step::Revert, text, is_temporary: false, is_qualified: false };
        statement.execute(owner);
    }
}
