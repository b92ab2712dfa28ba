//! Sessions that do one thing at the same time, each in a loop inside the server: what a client
//! does would hide the differences.

use std::thread;
use std::time::{Duration, Instant, SystemTime};

use postgres::Client;
use snowflake_e2e::{Cluster, Run};

/// Sessions of one server. They stay connected, because connecting would take as long as a
/// measurement.
pub struct Crew {
    /// One more, which does other things meanwhile.
    pub watcher: Client,
    sessions: Vec<Client>,
}

/// The work of sessions.
pub struct Done {
    /// The work of each session.
    pub counts: Vec<i64>,
    /// In how many seconds.
    pub seconds: f64,
}

/// IDs of a statement that does nothing but take them.
pub const AT_ONCE: i64 = 5000;

/// Takes IDs in one statement. Rows stream: a set in FROM would be stored first.
pub fn stream(call: &str) -> String {
    format!("PERFORM count({call}) FROM (SELECT generate_series(1, {AT_ONCE})) AS rows")
}

/// Creates or replaces the procedure that repeats a statement of PL/pgSQL, each time as a
/// transaction of its own, until a point in time, and counts.
pub fn create_procedure(client: &mut Client, name: &str, statement: &str, count: i64) {
    // The clock is read less often than a single call is made.
    let repeats = if count == 1 { 20 } else { 1 };
    let create = format!(
        "CREATE OR REPLACE PROCEDURE {name}(INOUT done bigint, ends float8) LANGUAGE plpgsql AS $$
         DECLARE
             ends timestamptz := to_timestamp(ends);
         BEGIN
             LOOP
                 FOR repeat IN 1..{repeats} LOOP
                     {statement};
                     COMMIT;
                 END LOOP;
                 done := done + {repeats} * {count};
                 EXIT WHEN clock_timestamp() >= ends;
             END LOOP;
         END
         $$"
    );
    client.run(&create);
}

impl Crew {
    /// Connects so many sessions.
    pub fn of(cluster: &Cluster, sessions: usize) -> Crew {
        let connect = |_| cluster.connect();
        Crew { watcher: cluster.connect(), sessions: (0..sessions).map(connect).collect() }
    }

    /// Lets the first sessions execute a statement, and returns the seconds until all have.
    pub fn execute(&mut self, sessions: usize, statement: &str) -> f64 {
        let begun = Instant::now();
        thread::scope(|scope| {
            for session in &mut self.sessions[..sessions] {
                scope.spawn(|| session.run(statement));
            }
        });
        begun.elapsed().as_secs_f64()
    }

    /// Lets the first sessions call a procedure, for a time.
    pub fn work(&mut self, sessions: usize, procedure: &str, time: Duration) -> Done {
        let ends = (SystemTime::now() + time).duration_since(SystemTime::UNIX_EPOCH);
        let call = format!("CALL {procedure}(0, $1)");
        let ends = ends.expect("a time after 1970").as_secs_f64();
        let begun = Instant::now();
        let counts = thread::scope(|scope| {
            let work = |session: &mut Client| -> i64 {
                session.query_one(&call, &[&ends]).expect("the work is done").get(0)
            };
            let threads: Vec<_> = self.sessions[..sessions]
                .iter_mut()
                .map(|session| scope.spawn(move || work(session)))
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("a session")).collect()
        });
        Done { counts, seconds: begun.elapsed().as_secs_f64() }
    }
}
