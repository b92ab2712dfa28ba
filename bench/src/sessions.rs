//! Many sessions that take different keys at the same time, and insert rows.

use std::time::Duration;

use snowflake_e2e::{Programs, bigint};

use crate::crew::{AT_ONCE, Crew, create_procedure, stream};
use crate::effort::Effort;
use crate::keys::{self, FORMER, Key, NEXTVAL, NEXTVAL_CACHED, SNOWFLAKE, UUID, UUIDV7, WIDE};
use crate::quantiles::{median, ratio};
use crate::report::{Report, Table};
use crate::server::{cluster, copy_out, empty};

/// Sessions at the same time.
pub const SESSIONS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// The keys that are compared, apart from [`WIDE`] and [`FORMER`].
const KEYS: [&str; 5] = [SNOWFLAKE, NEXTVAL, NEXTVAL_CACHED, UUIDV7, UUID];

/// The number of IDs that the default layout allows in a second.
const LIMIT: f64 = 4_096_000.0;

/// A statement that sessions repeat.
struct Task {
    title: &'static str,
    /// IDs of a statement.
    count: i64,
    inserts: bool,
    statement: fn(&Candidate) -> String,
}

const TASKS: [Task; 5] = [
    Task {
        title: "IDs per second, 5,000 in a statement",
        count: AT_ONCE,
        inserts: false,
        statement: |candidate| stream(candidate.key.call),
    },
    Task {
        title: "IDs per second, each in a transaction",
        count: 1,
        inserts: false,
        statement: |candidate| format!("PERFORM {}", candidate.key.call),
    },
    Task {
        title: "Rows per second, each in a transaction",
        count: 1,
        inserts: true,
        statement: |candidate| format!("INSERT INTO {} (item) VALUES (1)", candidate.table),
    },
    Task {
        title: "Rows per second, 100 in an INSERT",
        count: 100,
        inserts: true,
        statement: |candidate| {
            format!("INSERT INTO {} (item) SELECT generate_series(1, 100)", candidate.table)
        },
    },
    Task {
        title: "Rows per second, 2,000 in a COPY",
        count: 2000,
        inserts: true,
        statement: |candidate| format!("COPY {} (item) FROM '{}'", candidate.table, candidate.file),
    },
];

/// A key on a server.
struct Candidate {
    name: &'static str,
    key: Key,
    server: usize,
    table: String,
    /// Rows to copy.
    file: String,
}

/// The results of sessions with a key: figures of the rounds, for each of [`SESSIONS`].
#[derive(Default)]
struct Figures {
    per_second: [Vec<f64>; SESSIONS.len()],
    /// The part of its fair share that the slowest session had.
    slowest: [Vec<f64>; SESSIONS.len()],
}

/// The figures of a task.
pub struct Work {
    /// The name of the task.
    pub title: &'static str,
    /// With which kind of key, and how many a second, for each of [`SESSIONS`].
    pub per_second: Vec<(&'static str, Vec<f64>)>,
}

/// Measures each task, and prints tables.
pub fn measure(effort: &Effort, report: &mut Report) -> Vec<Work> {
    let (narrow, keys) = keys::start(cluster());
    let (wide, _) = keys::start(cluster().wide_sequence());
    let (former, _) = keys::start(cluster().programs(Programs::former_release_from_env()));
    let clusters = [&narrow, &wide, &former];
    let mut crews = clusters.map(|cluster| Crew::of(cluster, 64));
    loops(&mut crews[0], &keys, effort);
    let mut candidates = Vec::new();
    for key in keys.into_iter().filter(|key| KEYS.contains(&key.name)) {
        let own: &[_] = if key.name == SNOWFLAKE { &[(WIDE, 1), (FORMER, 2)] } else { &[] };
        for (name, server) in [(key.name, 0)].into_iter().chain(own.iter().copied()) {
            let table = format!("t{}", candidates.len());
            key.create_table(&mut crews[server].watcher, &table);
            let file = copy_out(clusters[server], "n", 2000);
            candidates.push(Candidate { name, key, server, table, file });
        }
    }
    TASKS.iter().map(|task| task.measure(&mut crews, &candidates, effort, report)).collect()
}

/// Measures what somebody tries first: a loop that takes a million keys, in one session and in
/// eight.
fn loops(crew: &mut Crew, keys: &[Key], effort: &Effort) {
    const OF_SESSIONS: [usize; 2] = [1, 8];
    let title = format!(
        "Seconds until each session has taken {} keys; medians of {} rounds",
        effort.rows, effort.rounds
    );
    let mut table = Table::of_sessions(title, &OF_SESSIONS);
    for key in keys.iter().filter(|key| [SNOWFLAKE, NEXTVAL].contains(&key.name)) {
        let count = format!("SELECT count({}) FROM generate_series(1, {})", key.call, effort.rows);
        let cells = OF_SESSIONS.map(|sessions| {
            let rounds = (0..effort.rounds).map(|_| crew.execute(sessions, &count));
            format!("{:.2}", median(rounds.collect()))
        });
        table.row(format!("`{}`", key.name), cells);
    }
    table.print();
}

impl Task {
    fn measure(
        &self,
        crews: &mut [Crew; 3],
        candidates: &[Candidate],
        effort: &Effort,
        report: &mut Report,
    ) -> Work {
        let Effort { session_rounds: rounds, session_seconds: seconds, .. } = *effort;
        for candidate in candidates {
            let watcher = &mut crews[candidate.server].watcher;
            let statement = (self.statement)(candidate);
            create_procedure(watcher, &candidate.table, &statement, self.count);
        }
        let mut measured: Vec<_> = candidates.iter().map(|_| Figures::default()).collect();
        for round in 1..=rounds {
            eprintln!("    {}, round {round} of {rounds}", self.title);
            for (place, sessions) in SESSIONS.into_iter().enumerate() {
                for (candidate, figures) in candidates.iter().zip(&mut measured) {
                    let counts = self.run(crews, candidate, sessions, seconds);
                    let all: f64 = counts.iter().sum();
                    figures.per_second[place].push(all);
                    let least = counts.into_iter().fold(f64::INFINITY, f64::min);
                    figures.slowest[place].push(least * sessions as f64 / all);
                }
            }
        }
        let measured: Vec<_> = candidates.iter().map(|c| c.name).zip(measured).collect();
        self.show(&measured, &format!("medians of {rounds} rounds of {seconds} s"), report)
    }

    /// Runs the task, and returns the results of each session, per second.
    fn run(
        &self,
        crews: &mut [Crew; 3],
        on: &Candidate,
        sessions: usize,
        seconds: f64,
    ) -> Vec<f64> {
        let crew = &mut crews[on.server];
        if self.inserts {
            // The rows of all rounds together would fill the disk.
            empty(&mut crew.watcher, &on.table);
        }
        let query = match self.inserts {
            true => format!("SELECT count(*) FROM {}", on.table),
            false => "SELECT issued FROM pg_stat_snowflake".to_owned(),
        };
        let before = bigint(&mut crew.watcher, &query);
        let done = crew.work(sessions, &on.table, Duration::from_secs_f64(seconds));
        if self.inserts || on.key.name == SNOWFLAKE {
            let made = bigint(&mut crew.watcher, &query) - before;
            assert_eq!(made, done.counts.iter().sum::<i64>(), "{}: {}", self.title, on.name);
        }
        done.counts.into_iter().map(|count| count as f64 / done.seconds).collect()
    }

    fn show(
        &self,
        measured: &[(&'static str, Figures)],
        rounds: &str,
        report: &mut Report,
    ) -> Work {
        let of = |name| &measured.iter().find(|(other, _)| *other == name).expect("measured").1;
        let print = |what: &str, cell: &dyn Fn(&Figures, usize) -> String| {
            let title = format!("{}{what}; {rounds}", self.title);
            let mut table = Table::of_sessions(title, &SESSIONS);
            for (name, figures) in measured {
                let cells = (0..SESSIONS.len()).map(|place| cell(figures, place));
                table.row(format!("`{name}`"), cells);
            }
            table.print();
        };
        let middle = |rounds: &Vec<f64>| median(rounds.clone());
        let (own, nextval) = (of(SNOWFLAKE), of(NEXTVAL));
        let of_nextval = |figures: &Figures, place: usize| {
            ratio(&figures.per_second[place], &nextval.per_second[place])
        };
        print(" (of those with nextval())", &|figures, place| {
            format!("{:.0} ({:.2})", middle(&figures.per_second[place]), of_nextval(figures, place))
        });
        if self.count == AT_ONCE {
            let of_former = ratio(
                &own.per_second[SESSIONS.len() - 1],
                &of(FORMER).per_second[SESSIONS.len() - 1],
            );
            report.at_least("64 sessions, IDs per second / of the former release", of_former, 0.98);
            print(", the slowest session's part of its share", &|figures, place| {
                format!("{:.2}", middle(&figures.slowest[place]))
            });
            for (place, sessions) in SESSIONS.into_iter().enumerate() {
                let what = format!("{sessions} sessions, of 4,096,000 IDs per second");
                let least = if sessions == 1 { 0.99 } else { 0.97 };
                let of_limit = middle(&own.per_second[place]) / LIMIT;
                report.at_least(what, of_limit, least);
                if sessions > 1 {
                    let what = format!("{sessions} sessions, the slowest's share");
                    report.at_least(what, middle(&own.slowest[place]), 0.5);
                }
            }
        } else if self.count > 1 {
            let what = format!("{}, 64 sessions, with {SNOWFLAKE} / with {NEXTVAL}", self.title);
            report.at_least(what, of_nextval(own, SESSIONS.len() - 1), 1.0);
        }
        let medians = |figures: &Figures| figures.per_second.iter().map(middle).collect();
        // The picture is of this release.
        let shown = measured.iter().filter(|(name, _)| *name != FORMER);
        let per_second = shown.map(|(name, figures)| (*name, medians(figures)));
        Work { title: self.title, per_second: per_second.collect() }
    }
}
