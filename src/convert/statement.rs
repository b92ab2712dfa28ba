//! A statement, and as whom it runs.

use pgrx::pg_sys;

use crate::server::catalog;

/// What a statement is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// It converts keys.
    Convert,
    /// It validates a foreign key after the transaction.
    Validate,
    /// It reverts keys.
    Revert,
}

impl Step {
    pub fn name(self) -> &'static str {
        match self {
            Step::Convert => "convert",
            Step::Validate => "validate",
            Step::Revert => "revert",
        }
    }
}

/// A statement to execute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    pub step: Step,
    pub text: String,
    /// The owner of what it changes; `None` for a statement that the caller executes.
    pub owner: Option<pg_sys::Oid>,
    /// Whether that is temporary. PostgreSQL allows no new temporary relation in a restricted
    /// operation.
    pub is_temporary: bool,
    /// Whether it was made to be executed with the catalog alone in `search_path`, like those of a
    /// dump.
    pub is_qualified: bool,
}

impl Statement {
    pub fn execute(&self) {
        let execute = || {
            if self.is_qualified {
                catalog::execute_qualified(&self.text)
            } else {
                catalog::execute(&self.text)
            }
        };
        match self.owner {
            Some(owner) => as_owner(owner, self.is_temporary, execute),
            None => execute(),
        }
    }
}

/// Runs `act` as the owner of an object, in a restricted operation. It is not restricted for a
/// temporary object of the current user, which no other session can use.
pub fn as_owner<T>(owner: pg_sys::Oid, is_temporary: bool, act: impl FnOnce() -> T) -> T {
    // SAFETY: reads a variable of this process.
    let is_own = is_temporary && owner == unsafe { pg_sys::GetUserId() };
    catalog::as_user(owner, !is_own, act)
}
