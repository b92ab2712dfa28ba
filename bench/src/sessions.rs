//! What many sessions do at the same time with different keys: take them, and insert rows.

use std::time::Duration;

use postgres::Client;
use snowflake_e2e::{Cluster, bigint};

use crate::crew::{AT_ONCE, Crew, create_procedure, stream};
use crate::effort::Effort;
use crate::keys::{self, Key, NEXTVAL, NEXTVAL_CACHED, SNOWFLAKE, UUID, UUIDV7};
use crate::quantiles::{median, ratio};
use crate::report::{Bound, Report, Table};
use crate::server::{cluster, copy_out, empty};

/// Sessions at the same time.
pub const SESSIONS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// The keys that are compared. The last one is the first, with a layout that limits nobody.
const KEYS: [&str; 5] = [SNOWFLAKE, NEXTVAL, NEXTVAL_CACHED, UUIDV7, UUID];
const WIDE: &str = "snowflake_nextval(), 16 bits";

/// What the default layout allows in a second.
const LIMIT: f64 = 4_096_000.0;

/// Rows of a file that is copied.
const COPIED: u32 = 2000;

/// One kind of work.
pub struct Work {
    /// What is done.
    pub title: &'static str,
    /// With which kind of key, and how many a second, for each of [`SESSIONS`].
    pub per_second: Vec<(&'static str, Vec<f64>)>,
}

/// A server, a session that watches it, and those that work.
struct Server {
    file: String,
    client: Client,
    crew: Crew,
}

/// A key on a server, and its table.
struct Candidate {
    name: &'static str,
    key: Key,
    server: usize,
    table: String,
}

/// Figures of the rounds, for each of [`SESSIONS`].
#[derive(Default)]
struct Figures {
    per_second: [Vec<f64>; SESSIONS.len()],
    /// What the session that did least had of its fair share.
    slowest: [Vec<f64>; SESSIONS.len()],
}

/// Measures each kind of work, and prints tables.
pub fn measure(effort: &Effort, report: &mut Report) -> Vec<Work> {
    let (narrow, keys) = keys::start(cluster());
    let (wide, _) = keys::start(cluster().wide_sequence());
    let mut servers = [&narrow, &wide].map(Server::of);
    let compared = keys.into_iter().filter(|key| KEYS.contains(&key.name));
    let candidates: Vec<Candidate> = compared
        .flat_map(|key| match key.name {
            SNOWFLAKE => vec![(SNOWFLAKE, key, 0), (WIDE, key, 1)],
            name => vec![(name, key, 0)],
        })
        .enumerate()
        .map(|(index, (name, key, server))| {
            let table = format!("t{index}");
            key.create_table(&mut servers[server].client, &table);
            Candidate { name, key, server, table }
        })
        .collect();
    let files = servers.each_ref().map(|server| server.file.clone());
    let into = |candidate: &Candidate, values: &str| {
        format!("INSERT INTO {} (item) VALUES {values}", candidate.table)
    };
    let hundred = ["(1)"; 100].join(", ");
    let copy = |Candidate { table, server, .. }: &Candidate| {
        format!("COPY {table} (item) FROM '{}'", files[*server])
    };
    let works: [(_, _, &dyn Fn(&Candidate) -> String); 5] = [
        ("IDs per second, 5,000 in a statement", AT_ONCE, &|c| stream(c.key.call)),
        ("IDs per second, each in a transaction", 1, &|c| format!("PERFORM {}", c.key.call)),
        ("Rows per second, each in a transaction", 1, &|c| into(c, "(1)")),
        ("Rows per second, 100 in an INSERT", 100, &|c| into(c, &hundred)),
        ("Rows per second, 2,000 in a COPY", i64::from(COPIED), &copy),
    ];
    works
        .into_iter()
        .enumerate()
        .map(|(number, (title, count, statement))| {
            for candidate in &candidates {
                let client = &mut servers[candidate.server].client;
                let procedure = candidate.procedure(number);
                create_procedure(client, &procedure, &statement(candidate), count);
            }
            let measured = one(number, title, &mut servers, &candidates, effort);
            show(number, title, &candidates, &measured, effort, report)
        })
        .collect()
}

impl Server {
    fn of(cluster: &Cluster) -> Server {
        let file = copy_out(cluster, "n", COPIED);
        Server { file, client: cluster.connect(), crew: Crew::of(cluster, 64) }
    }
}

impl Candidate {
    fn procedure(&self, work: usize) -> String {
        format!("{}_work{work}", self.table)
    }
}

fn one(
    number: usize,
    title: &str,
    servers: &mut [Server; 2],
    candidates: &[Candidate],
    effort: &Effort,
) -> Vec<Figures> {
    let time = Duration::from_secs_f64(effort.session_seconds);
    let mut measured: Vec<Figures> = candidates.iter().map(|_| Figures::default()).collect();
    for round in 1..=effort.session_rounds {
        eprintln!("    {title}, round {round} of {}", effort.session_rounds);
        for (place, sessions) in SESSIONS.into_iter().enumerate() {
            for (candidate, figures) in candidates.iter().zip(&mut measured) {
                let Server { client, crew, .. } = &mut servers[candidate.server];
                // The rows of all rounds together would fill the disk.
                empty(client, &candidate.table);
                let issued = "SELECT issued FROM pg_stat_snowflake";
                let before = bigint(client, issued);
                let done = crew.work(sessions, &candidate.procedure(number), time);
                let all: i64 = done.counts.iter().sum();
                let made = if title.starts_with("Rows") {
                    bigint(client, &format!("SELECT count(*) FROM {}", candidate.table))
                } else if candidate.key.name == SNOWFLAKE {
                    bigint(client, issued) - before
                } else {
                    all
                };
                assert_eq!(made, all, "{title}: {} of {sessions} sessions", candidate.name);
                figures.per_second[place].push(all as f64 / done.seconds);
                let least = *done.counts.iter().min().expect("a session");
                figures.slowest[place].push((least * sessions as i64) as f64 / all as f64);
            }
        }
    }
    measured
}

fn show(
    number: usize,
    title: &'static str,
    candidates: &[Candidate],
    measured: &[Figures],
    effort: &Effort,
    report: &mut Report,
) -> Work {
    let of = |name| {
        let place = candidates.iter().position(|candidate| candidate.name == name);
        &measured[place.expect("measured")]
    };
    let print = |title: &str, cell: &dyn Fn(&Figures, usize) -> String| {
        let columns: Vec<String> = SESSIONS.iter().map(usize::to_string).collect();
        let columns: Vec<&str> =
            ["sessions"].into_iter().chain(columns.iter().map(|c| &**c)).collect();
        let mut table = Table::new(title, &columns);
        for (candidate, figures) in candidates.iter().zip(measured) {
            let cells = (0..SESSIONS.len()).map(|place| cell(figures, place));
            table.row(
                &[format!("`{}`", candidate.name)].into_iter().chain(cells).collect::<Vec<_>>(),
            );
        }
        table.print();
    };
    let middle = |rounds: &[f64]| median(rounds.to_vec());
    let of_nextval = |figures: &Figures, place: usize| {
        ratio(&figures.per_second[place], &of(NEXTVAL).per_second[place])
    };
    let rounds =
        format!("medians of {} rounds of {} s", effort.session_rounds, effort.session_seconds);
    print(&format!("{title} (of those with nextval()); {rounds}"), &|figures, place| {
        format!("{:.0} ({:.2})", middle(&figures.per_second[place]), of_nextval(figures, place))
    });
    let own = of(SNOWFLAKE);
    let last = SESSIONS.len() - 1;
    if number == 0 {
        print(&format!("{title}: what the slowest session has of its share"), &|figures, place| {
            format!("{:.2}", middle(&figures.slowest[place]))
        });
        for (place, sessions) in SESSIONS.into_iter().enumerate() {
            let least = if sessions == 1 { 0.99 } else { 0.97 };
            let of_limit = middle(&own.per_second[place]) / LIMIT;
            let what = format!("{sessions} sessions, of 4,096,000 IDs per second");
            report.expect(what, of_limit, Bound::AtLeast(least));
            if sessions > 1 {
                let what = format!("{sessions} sessions, the slowest's share");
                report.expect(what, middle(&own.slowest[place]), Bound::AtLeast(0.5));
            }
        }
    } else if number >= 3 {
        let what =
            format!("{title}, {} sessions, with {SNOWFLAKE} / with {NEXTVAL}", SESSIONS[last]);
        report.expect(what, of_nextval(own, last), Bound::AtLeast(1.0));
    }
    let medians =
        |figures: &Figures| figures.per_second.iter().map(|rounds| middle(rounds)).collect();
    let per_second = candidates.iter().zip(measured);
    Work {
        title,
        per_second: per_second
            .map(|(candidate, figures)| (candidate.name, medians(figures)))
            .collect(),
    }
}
