//! One statement after the other, until the goal is reached.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use postgres::error::SqlState;

use crate::address::Address;
use crate::arguments::Unit;
use crate::execution::{Yielding, execute};
use crate::failure::Failure;
use crate::interrupt;
use crate::mark::duration;
use crate::progress::Progress;
use crate::session::Session;
use crate::step::Step;

/// How long a lost connection is tried again.
const PATIENCE: Duration = Duration::from_secs(600);
/// How often autovacuums are made to yield to the same statement.
const LONG_ATTEMPTS: Duration = Duration::from_secs(30);

/// How often rows that were missed are looked for again.
const SCANS: u32 = 3;

/// What is counted for the last line.
#[derive(Default)]
struct Counts {
    statements: u32,
    retries: u32,
    long_attempts: u32,
    reconnections: u32,
    longest_locks: f64,
}

/// Follows the statements to a goal.
pub fn follow(address: &Address, unit: &Unit, goal: &'static str) -> Result<ExitCode, Failure> {
    interrupt::listen();
    let progress = Arc::new(Progress::new(goal));
    let result =
        Course { address, unit, goal, progress: &progress, counts: Counts::default(), scans: 0 }
            .run();
    if result.is_err() {
        progress.clear();
    }
    result
}

struct Course<'a> {
    address: &'a Address,
    unit: &'a Unit,
    goal: &'static str,
    progress: &'a Arc<Progress>,
    counts: Counts,
    scans: u32,
}

impl<'a> Course<'a> {
    fn run(mut self) -> Result<ExitCode, Failure> {
        let begin = Instant::now();
        let mut session = self.open()?;
        let mut position = 0;
        loop {
            interrupt::check()?;
            match self.advance(&mut session, &mut position) {
                Ok(None) => (),
                Ok(Some(last)) => {
                    self.progress.end(&self.summary(&last, begin.elapsed()));
                    return Ok(ExitCode::SUCCESS);
                }
                Err(failure) if failure.lost_session() => {
                    session = self.reopen(&failure)?;
                    self.counts.reconnections += 1;
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Does what comes next; the last step if there is nothing left.
    fn advance(
        &mut self,
        session: &mut Session<'a>,
        position: &mut i64,
    ) -> Result<Option<Step>, Failure> {
        let mut step = session.next(self.goal, *position)?;
        let mut is_first = true;
        while let Some(wait) = step.wait.as_ref().filter(|_| step.statement.is_none()) {
            self.progress.wait(&format!("{}: waits: {wait}", step.title()), is_first);
            is_first = false;
            interrupt::sleep(Duration::from_secs(1))?;
            step = session.next(self.goal, *position)?;
        }
        let Some(statement) = &step.statement else { return Ok(Some(step)) };
        if let Some(mark) = self.progress.begin(&step) {
            session.show(&mark)?;
        }
        match self.insist(session, &step, statement) {
            Ok(()) => *position = step.next_position,
            // Rows that were written before the trigger was there are found by a second scan.
            Err(failure)
                if failure.state() == Some(&SqlState::CHECK_VIOLATION)
                    && *position != 0
                    && self.scans < SCANS =>
            {
                self.scans += 1;
                *position = 0;
            }
            Err(failure) => return Err(failure),
        }
        Ok(None)
    }

    /// Executes a statement, again and again as long as only locks are in its way.
    fn insist(
        &mut self,
        session: &mut Session<'a>,
        step: &Step,
        statement: &str,
    ) -> Result<(), Failure> {
        let mut attempts = 0;
        let mut last_long: Option<Instant> = None;
        let mut tables: Vec<String> = Vec::new();
        loop {
            let yielding = match tables.is_empty() {
                true => None,
                false => {
                    Some(Yielding { tables: &tables, timeout: session.deadlock_timeout()? + 1000 })
                }
            };
            let outcome = execute(session, step, statement, yielding.as_ref(), self.progress);
            let failure = match outcome.result {
                Ok(held) => {
                    self.counts.statements += 1;
                    let longest = &mut self.counts.longest_locks;
                    *longest = longest.max(held.unwrap_or_default());
                    return Ok(());
                }
                Err(failure) if failure.may_pass() => failure,
                Err(failure) => return Err(failure),
            };
            interrupt::check()?;
            attempts += 1;
            self.counts.retries += 1;
            let blockers = outcome.seen.map(|seen| seen.blockers).unwrap_or_default();
            tables.clear();
            let mut pause = back_off(attempts);
            if let Some(blocker) = blockers.iter().find(|blocker| blocker.prevents_wraparound) {
                pause = Duration::from_secs(5);
                let text = format!("{}: waits for {blocker}, which does not yield", step.title());
                self.progress.wait(&text, attempts == 1);
            } else if let Some(blocker) = blockers.first()
                // With somebody else in the way, it would be in vain as well.
                && blockers.iter().all(|blocker| blocker.is_autovacuum)
                && last_long.is_none_or(|time| time.elapsed() > LONG_ATTEMPTS)
            {
                last_long = Some(Instant::now());
                tables = blockers.iter().flat_map(|blocker| blocker.tables.clone()).collect();
                self.counts.long_attempts += 1;
                pause = Duration::ZERO;
                self.progress.say(&format!(
                    "{}: one attempt that lasts longer than deadlock_timeout, to which {blocker} \
                     yields",
                    step.title()
                ));
            } else {
                let who: Vec<String> = blockers.iter().map(ToString::to_string).collect();
                let who = if who.is_empty() { failure_text(&failure) } else { who.join("; ") };
                let text = format!("{}: attempt {attempts} was in vain: {who}", step.title());
                self.progress.wait(&text, attempts == 1);
            }
            interrupt::sleep(pause)?;
        }
    }

    /// The first session. Waits for another program that works on the table.
    fn open(&self) -> Result<Session<'a>, Failure> {
        let mut session = Session::open(self.address, self.unit, self.progress)?;
        let mut is_first = true;
        while let Some(pid) = session.lock()? {
            let text =
                format!("waits for session {pid}, in which the same program works on the table");
            self.progress.wait(&text, is_first);
            is_first = false;
            interrupt::sleep(Duration::from_millis(500))?;
        }
        Ok(session)
    }

    /// Another session in place of one that is lost.
    fn reopen(&self, lost: &Failure) -> Result<Session<'a>, Failure> {
        let begin = Instant::now();
        self.progress
            .say(&format!("the connection was lost, and is tried again: {}", failure_text(lost)));
        loop {
            match self.open() {
                Ok(session) => {
                    self.progress.say("connected again");
                    return Ok(session);
                }
                Err(failure) if !is_temporary(&failure) => return Err(failure),
                Err(failure) if begin.elapsed() > PATIENCE => {
                    return Err(Failure::Connection(failure_text(&failure)));
                }
                Err(failure) => {
                    let text = format!("not yet: {}", failure_text(&failure));
                    self.progress.wait(&text, false);
                }
            }
            interrupt::sleep(Duration::from_millis(500))?;
        }
    }

    fn summary(&self, last: &Step, time: Duration) -> String {
        let Counts { statements, retries, long_attempts, reconnections, longest_locks } =
            self.counts;
        let end = match (self.goal, &*last.phase) {
            ("prepare", "ready") => "ready to swap".to_owned(),
            (_, "done") if self.goal == "swap" => "swapped".to_owned(),
            (_, "done") if self.goal == "abandon" => {
                "abandoned: the tables are as before".to_owned()
            }
            (_, phase) => phase.to_owned(),
        };
        let mut text = format!(
            "{end} ({statements} statements in {}; locks were held for {longest_locks:.0} ms at most; \
             {retries} attempts were in vain",
            duration(time.as_secs_f64()),
        );
        if long_attempts > 0 {
            text += &format!(", {long_attempts} longer ones made autovacuums yield");
        }
        if reconnections > 0 {
            text += &format!("; connected again {reconnections} times");
        }
        text + ")"
    }
}

/// How long to wait after so many attempts: longer each time, and not the same for two programs.
fn back_off(attempts: u32) -> Duration {
    let longest = (100 << attempts.min(6)).min(5000);
    Duration::from_millis(fastrand::u64(longest / 2..=longest))
}

/// What a failure says, in one line.
fn failure_text(failure: &Failure) -> String {
    match failure {
        Failure::Server(error) => error.message().to_owned(),
        Failure::Own(message, ..) | Failure::Connection(message) => message.clone(),
        Failure::Interrupted => "a signal".into(),
    }
}

/// Whether there may be a session later: the server is not there, starts, or has no place left.
fn is_temporary(failure: &Failure) -> bool {
    failure.lost_session() || failure.state() == Some(&SqlState::TOO_MANY_CONNECTIONS)
}
