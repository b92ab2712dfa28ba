//! Why the program ends before its goal.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::process::ExitCode;

use postgres::error::{DbError, SqlState};

/// Why the program ends.
pub enum Failure {
    /// What the server said.
    Server(Box<DbError>),
    /// What the program itself says: an error, a detail and a hint.
    Own(String, Option<String>, Option<String>),
    /// There is no connection.
    Connection(String),
    /// A signal, and what it ended.
    Interrupted,
}

impl Failure {
    /// An error of the program, with neither detail nor hint.
    pub fn new(message: impl Into<String>) -> Failure {
        Failure::Own(message.into(), None, None)
    }

    /// The exit status.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(match self {
            Failure::Server(_) | Failure::Own(..) => 1,
            Failure::Connection(_) => 2,
            Failure::Interrupted => 130,
        })
    }

    /// What the server said, by its code.
    pub fn state(&self) -> Option<&SqlState> {
        match self {
            Failure::Server(error) => Some(error.code()),
            _ => None,
        }
    }

    /// Whether the session is gone, or can no longer write, so that another one is needed. Codes of
    /// class 57P are those of a server that goes down or comes up, or whose session was ended.
    pub fn lost_session(&self) -> bool {
        match self {
            Failure::Connection(_) => true,
            Failure::Server(error) => {
                let code = error.code();
                code.code().starts_with("08")
                    || code.code().starts_with("57P0")
                    || *code == SqlState::READ_ONLY_SQL_TRANSACTION
            }
            _ => false,
        }
    }

    /// Whether the same may succeed a moment later: a lock was not to be had in time, somebody
    /// canceled the statement, or it was the one to yield in a deadlock or a conflict.
    pub fn may_pass(&self) -> bool {
        self.state().is_some_and(|code| {
            [
                SqlState::QUERY_CANCELED,
                SqlState::LOCK_NOT_AVAILABLE,
                SqlState::T_R_DEADLOCK_DETECTED,
                SqlState::T_R_SERIALIZATION_FAILURE,
            ]
            .contains(code)
        })
    }
}

impl From<postgres::Error> for Failure {
    fn from(error: postgres::Error) -> Failure {
        match error.as_db_error() {
            Some(error) => Failure::Server(Box::new(error.clone())),
            None => Failure::Connection(with_cause(&error)),
        }
    }
}

/// An error with what it says of its cause.
pub fn with_cause(error: &dyn Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", with_cause(cause)),
        None => error.to_string(),
    }
}

/// As psql prints what servers say, and as PostgreSQL's programs print what they say themselves.
impl Display for Failure {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Server(error) => write!(formatter, "{}", ServerMessage(error)),
            Failure::Own(message, detail, hint) => {
                write!(formatter, "snowflake-widen: error: {message}")?;
                for (what, text) in [("detail", detail), ("hint", hint)] {
                    if let Some(text) = text {
                        write!(formatter, "\nsnowflake-widen: {what}: {text}")?;
                    }
                }
                Ok(())
            }
            Failure::Connection(message) => write!(formatter, "snowflake-widen: error: {message}"),
            Failure::Interrupted => formatter.write_str(
                "snowflake-widen: ended by a signal\n\
                 snowflake-widen: hint: Called again with the same options, it goes on.",
            ),
        }
    }
}

/// What a server says, as psql prints it.
pub struct ServerMessage<'a>(pub &'a DbError);

impl Display for ServerMessage<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:  {}", self.0.severity(), self.0.message())?;
        for (what, text) in [("DETAIL", self.0.detail()), ("HINT", self.0.hint())] {
            if let Some(text) = text {
                write!(formatter, "\n{what}:  {text}")?;
            }
        }
        Ok(())
    }
}
