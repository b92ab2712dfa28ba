//! Statements of the application, which a rehearsal tries after those of the conversion: they fire
//! the triggers and rules of the converted tables, of which nobody can tell what they do with a key.

use std::cell::Cell;

use pgrx::prelude::*;
use snowflake_server::spi::{execute_here, execute_in_order, query};
use snowflake_server::subtransaction::{Words, tried};
use snowflake_server::user;

use super::obstacle::Obstacle;
use super::plan::Statements;
use super::rows::{fields, oid};
use super::trust::check_fired;

/// The statements, in the order in which they are tried.
pub struct Probe(pub Vec<String>);

impl Probe {
    /// Executes the statements as the owner of the conversion, restricted. Nothing of it stays. The
    /// first statement that fails is an obstacle.
    pub fn run(&self, converted: &Statements) -> Result<(), Obstacle> {
        if self.0.is_empty() {
            return Ok(());
        }
        let owner = &converted.owner;
        check_fired(owner, &converted.names)?;
        refuse_deferred()?;
        let place = Cell::new(0);
        let act = || {
            user::as_owner(owner.role, || {
                // A restricted operation cannot leave triggers to a commit, which would not come.
                execute_here("SET CONSTRAINTS ALL IMMEDIATE");
                execute_in_order(&self.0, &owner.path, |next| place.set(next));
            });
            Ok(())
        };
        tried(act, |words| Err(self.obstacle(place.get(), words)))
    }

    /// A statement has failed.
    fn obstacle(&self, place: usize, words: Words) -> Obstacle {
        let statement = format!("Statement: {}", self.0[place]);
        let context = words.context.map(|context| format!("Context: {context}"));
        let detail = [words.detail, Some(statement), context];
        Obstacle {
            sqlstate: words.sqlstate,
            object: String::new(),
            message: format!(
                "statement {} of the probe fails after the conversion: {}",
                place + 1,
                words.message
            ),
            detail: Some(detail.into_iter().flatten().collect::<Vec<_>>().join("\n")),
            hint: words.hint.or_else(|| Some(remedy(words.sqlstate).into())),
        }
    }
}

fn remedy(sqlstate: PgSqlErrorCode) -> &'static str {
    match sqlstate {
        // PL/pgSQL checks the types of what a plan is given.
        PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH => {
            "If this session has executed the function before, it keeps a plan for the former type: \
             rehearse in a new session."
        }
        _ => {
            "If it does not fail before the conversion, change what the context names, so that it \
             takes a bigint."
        }
    }
}

/// Triggers that this transaction has deferred would be fired once nothing is deferred any more, as the
/// owner: their tables might belong to anybody.
fn refuse_deferred() -> Result<(), Obstacle> {
    const DEFERRABLE: &str = "SELECT DISTINCT tgrelid FROM pg_trigger WHERE tgdeferrable";
    let is_pending = query(DEFERRABLE, &[]).into_iter().any(|row| {
        let [relation] = fields(row);
        // SAFETY: reads memory of this process.
        unsafe { pg_sys::AfterTriggerPendingOnRel(oid(relation.expect("a relation"))) }
    });
    if !is_pending {
        return Ok(());
    }
    Err(Obstacle {
        sqlstate: PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        object: String::new(),
        message: "a probe cannot be tried in a transaction that has deferred triggers".into(),
        detail: Some(
            "In a probe nothing is deferred, so they would be fired, as the owner of the conversion."
                .into(),
        ),
        hint: Some("Rehearse in a transaction of its own.".into()),
    })
}
