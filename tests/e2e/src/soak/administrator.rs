//! Acts of an administrator: floors, observations, and clocks that jump ahead.

use std::sync::atomic::Ordering::SeqCst;

use postgres::NoTls;
use snowflake_e2e::{NEXT, Run, bigint, eventually};

use crate::Soak;
use crate::clients::{Receipt, Role, Session};
use crate::standbys::any_clock;

/// More than the server follows, in seconds.
const JUMP: i64 = 3 * 24 * 60 * 60;

/// A floor around the present one, below which IDs might have been issued.
const SET_FLOOR: &str = "SELECT snowflake_max(snowflake_set_floor(
    greatest(clock_timestamp(), snowflake_floor())
        + random() * interval '8 seconds' - interval '2 seconds'))";

/// An ID of another server, which is within or beyond the limit; NULL if it is not followed.
const OBSERVE: &str = "SELECT CASE WHEN snowflake_observe(id) THEN id END
    FROM (SELECT snowflake_make(
              clock_timestamp() + random() * interval '50 seconds' - interval '10 seconds', 1, 2, 3
          ) AS id OFFSET 0) AS other";

/// The message with which the clock's jump is refused.
const REFUSED: &str = "the clock has jumped ahead by";

impl Soak {
    /// A floor is set, or refused because IDs are ahead of it.
    pub fn set_floor(&mut self) -> &'static str {
        match self.bound(SET_FLOOR) {
            Ok(_) => "floors that were set",
            Err(error) if error == "the floor of snowflake IDs must not be lowered" => {
                "floors that were refused"
            }
            Err(error) => self.fail(&format!("a floor: {error}")),
        }
    }

    /// An ID of another server is observed, and followed or not.
    pub fn observe(&mut self) -> &'static str {
        match self.bound(OBSERVE) {
            Ok(true) => "observations",
            Ok(false) => "observations that were refused",
            Err(error) => self.fail(&format!("an observation: {error}")),
        }
    }

    /// The clock of the primary jumps. Nothing follows it, not even a floor, before it is confirmed
    /// or set right.
    pub fn jump(&mut self) -> &'static str {
        self.primary.set_clock(&format!("+{}s", self.base + JUMP));
        eventually("the jump is refused", || self.error_of(NEXT).starts_with(REFUSED));
        for floor in ["clock_timestamp() + interval '1 minute'", "snowflake_floor()"] {
            let error = self.error_of(&format!("SELECT snowflake_set_floor({floor})"));
            if !error.starts_with(REFUSED) {
                return self.fail(&format!("a floor while the clock is refused: {error}"));
            }
        }
        if fastrand::bool() {
            self.primary.set_clock(&any_clock(self.base));
            let mut client = self.primary.connect();
            if bigint(&mut client, "SELECT lead FROM pg_stat_snowflake") > JUMP * 500 {
                return self.fail("IDs have followed a clock that was refused");
            }
            return "jumps that were set right";
        }
        self.base += JUMP;
        for standby in &self.standbys {
            standby.cluster.set_clock(&any_clock(self.base));
        }
        match self.bound("SELECT 0::bigint WHERE snowflake_confirm('clock')") {
            Ok(true) => "jumps that were confirmed",
            not => self.fail(&format!("a confirmation: {not:?}")),
        }
    }

    /// A query after which every ID is above the one that it returns; whether it returns one.
    fn bound(&mut self, query: &str) -> Result<bool, String> {
        let mut session = Session::connect(self.primary.config()).expect("the primary is up");
        // A standby that is not there might not come before the next event.
        let required = self.shared.required();
        let waits = required != 0 && required & !self.up() == 0;
        if !waits {
            session.client.run("SET synchronous_commit = local");
        }
        let found = session.commit(&self.shared, |client| client.query_opt(query, &[]));
        let (row, kept) = found.map_err(|error| match error.as_db_error() {
            Some(error) => error.message().to_owned(),
            None => error.to_string(),
        })?;
        let Some(id) = row.and_then(|row| row.get::<_, Option<i64>>(0)) else { return Ok(false) };
        self.shared.highest.fetch_max(id, SeqCst);
        let required = if waits { kept } else { 0 };
        let receipt = Receipt { id, role: Role::Bound, required };
        self.shared.fresh.lock().expect("no panic").push(receipt);
        Ok(true)
    }

    /// Returns the message with which a statement is refused; empty where it is not.
    fn error_of(&self, statement: &str) -> String {
        let mut client = self.primary.config().connect(NoTls).expect("the primary is up");
        // A statement that is not refused must not wait.
        client.run("SET synchronous_commit = local");
        match client.batch_execute(statement) {
            Ok(()) => String::new(),
            Err(error) => error.as_db_error().expect("an error of the server").message().to_owned(),
        }
    }

    /// Something that had to be otherwise.
    fn fail(&mut self, what: &str) -> &'static str {
        println!("{what}");
        self.found.broken += 1;
        "failures"
    }
}
