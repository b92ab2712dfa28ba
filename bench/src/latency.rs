//! The time that a single insert waits, at different rates: with a key from a sequence, and with a
//! snowflake ID. Also, the time that a session waits that takes one ID at a time, while other
//! sessions take IDs without end, with this release and the former one.

use std::thread;
use std::time::{Duration, Instant};

use postgres::Client;
use snowflake_e2e::{Cluster, ClusterBuilder, Programs, Run};

use crate::crew::{AT_ONCE, Crew, create_procedure, stream};
use crate::effort::Effort;
use crate::keys::{self, NEXTVAL, NEXTVAL_CACHED, SNOWFLAKE, WIDE};
use crate::quantiles::quantiles;
use crate::report::{Report, Table};
use crate::server::cluster;

/// Inserts per second into each table, and how many are measured.
const RATES: [(f64, usize); 3] = [(0.2, 20), (10.0, 200), (1000.0, 5000)];

const KEYS: [&str; 2] = ["nextval()", "snowflake_nextval()"];

/// The calls that others repeat without end, and the one that is watched beside them.
struct Scene {
    name: &'static str,
    layout: usize,
    /// At most so many do it.
    most: usize,
    /// A statement of PL/pgSQL.
    others: String,
    /// The statement that takes the key.
    watched: String,
}

/// In runs, others leave a part of each millisecond to others.
const RUN: &str = "snowflake_nextval(5000)";

/// A millisecond has 256 IDs.
const NARROW: &str = "INSERT of 1,000 rows, 8 bits";

/// Layouts of the servers: that of the default, and others.
const LAYOUTS: [fn(ClusterBuilder) -> ClusterBuilder; 3] = [
    |default| default,
    |wide| wide.wide_sequence(),
    |narrow| narrow.set("snowflake.sequence_bits", "8"),
];

fn scenes() -> [Scene; 6] {
    let scene = |name, layout, call: &str| Scene {
        name,
        layout,
        most: usize::MAX,
        others: stream(call),
        watched: format!("result := {call}"),
    };
    let plain = scene(SNOWFLAKE, 0, SNOWFLAKE);
    let run = Scene {
        name: RUN,
        others: format!("PERFORM count(*) FROM (SELECT {RUN}) AS ids"),
        ..scene(RUN, 0, SNOWFLAKE)
    };
    let narrow = Scene {
        name: NARROW,
        layout: 2,
        most: 16,
        others: "INSERT INTO items (item) SELECT generate_series(1, 1000)".into(),
        watched: "INSERT INTO items (item) VALUES (0) RETURNING id INTO result".into(),
    };
    let (nextval, cached) = ("nextval('plain')", "nextval('cache_32')");
    let sequences = [scene(NEXTVAL, 0, nextval), scene(NEXTVAL_CACHED, 0, cached)];
    let [nextval, cached] = sequences;
    [plain, run, scene(WIDE, 1, SNOWFLAKE), narrow, nextval, cached]
}

/// The time for which others work before they are watched, and after.
const MARGIN: Duration = Duration::from_millis(200);

/// Measures, and prints tables.
pub fn measure(effort: &Effort, report: &mut Report) {
    inserts();
    beside(&[0, 2, 8, 32], effort, report);
}

fn inserts() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    client.run(
        "CREATE TABLE by_sequence (id bigserial PRIMARY KEY, item text);
         CREATE TABLE by_snowflake (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), item text)",
    );
    let inserts = ["by_sequence", "by_snowflake"].map(|table| {
        let statement = format!("INSERT INTO {table} (item) VALUES ('book')");
        client.prepare(&statement).expect("a statement")
    });
    let mut report = Table::new(
        "Latency of a single-row insert, commit included, of one session; both kinds in turn",
        &["inserts per second", "key", "median, ms", "99th percentile, ms"],
    );
    for (rate, count) in RATES {
        eprintln!("    {rate} inserts per second");
        let pause = Duration::from_secs_f64(1.0 / rate / 2.0);
        let mut latencies = [const { Vec::new() }; 2];
        let mut due = Instant::now();
        // The first of each is for the caches.
        for round in 0..=count {
            for (insert, latencies) in inserts.iter().zip(&mut latencies) {
                due += pause;
                thread::sleep(due.saturating_duration_since(Instant::now()));
                let started = Instant::now();
                client.execute(insert, &[]).expect("a row");
                if round > 0 {
                    latencies.push(ms_since(started));
                }
            }
        }
        for (key, latencies) in KEYS.into_iter().zip(latencies) {
            let at = quantiles(latencies);
            let at = |share| format!("{:.2}", at(share));
            report.row(rate, [format!("`{key}`"), at(0.5), at(0.99)]);
        }
    }
    report.print();
}

fn ms_since(started: Instant) -> f64 {
    started.elapsed().as_secs_f64() * 1000.0
}

/// Measures how long a call takes in a session that pauses after each, beside so many others that
/// never do, with this release and the former one. Before it, the session calls a function that
/// does nothing, which shows how long the call waits for a processor.
pub fn beside(others: &[usize], effort: &Effort, report: &mut Report) {
    let most = *others.iter().max().expect("a number");
    let releases = [Programs::from_env(), Programs::former_release_from_env()];
    let mut sessions = releases.map(|programs| {
        LAYOUTS.map(|layout| {
            let (cluster, _) = keys::start(layout(cluster()).programs(programs.clone()));
            let mut client = cluster.connect();
            let table =
                format!("CREATE UNLOGGED TABLE items (id bigint DEFAULT {SNOWFLAKE}, item int)");
            client.run(&table);
            let crew = Crew::of(&cluster, most);
            (cluster, client, crew)
        })
    });
    let scenes = scenes();
    // The former release has the same sequences.
    let releases_of = |scene: &Scene| if scene.name.starts_with("nextval") { 0..1 } else { 0..2 };
    for (index, scene) in scenes.iter().enumerate() {
        for release in releases_of(scene) {
            let (_, client, _) = &mut sessions[release][scene.layout];
            create_procedure(client, &format!("others{index}"), &scene.others, AT_ONCE);
            create_observed(client, index, &scene.watched);
        }
    }
    let seconds = effort.watched_seconds / effort.session_rounds as f64;
    let title = format!(
        "Time of a key each millisecond (of pg_backend_pid() before it) in one session, beside \
         others without a pause; {} rounds of {seconds:.1} s",
        effort.session_rounds
    );
    let columns = ["others", "all take", "release", "50 %, µs", "99.9 %, µs", "longest, µs"];
    let mut table = Table::new(title, &columns);
    for &count in others {
        eprintln!("    beside {count} others");
        let mut times: Vec<_> =
            scenes.iter().map(|_| [(); 2].map(|()| [Vec::new(), Vec::new()])).collect();
        for _ in 0..effort.session_rounds {
            for (index, (scene, times)) in scenes.iter().zip(&mut times).enumerate() {
                for release in releases_of(scene) {
                    let (_, client, crew) = &mut sessions[release][scene.layout];
                    let working = count.min(scene.most);
                    watch(client, crew, index, working, seconds, &mut times[release]);
                }
            }
        }
        let mut longest = Vec::new();
        for (scene, times) in scenes.iter().zip(times) {
            for (release, times) in ["this", "former"].into_iter().zip(times) {
                let [nothing, key] = times;
                if key.is_empty() {
                    continue;
                }
                let (nothing, key) = (quantiles(nothing), quantiles(key));
                let at = |share| format!("{:.0} ({:.0})", key(share), nothing(share));
                let name = format!("`{}`", scene.name);
                let working = count.min(scene.most);
                table.row(working, [name, release.into(), at(0.5), at(0.999), at(1.0)]);
                if count == 64 && release == "this" {
                    longest.push((scene.name, key(1.0)));
                    if scene.name == SNOWFLAKE {
                        report.at_most("beside 64 sessions, the median, ms", key(0.5) / 1e3, 2.0);
                    }
                }
            }
        }
        let of =
            |name| longest.iter().find(|(scene, _)| *scene == name).map(|(_, longest)| longest);
        if let (Some(own), Some(sequence)) = (of(SNOWFLAKE), of(NEXTVAL)) {
            let what = "beside 64 sessions, the longest / with nextval()";
            report.at_most(what, own / sequence, 1.0);
        }
    }
    table.print();
}

/// Watches a session beside so many others, and adds its times to those of both calls.
fn watch(
    client: &mut Client,
    crew: &mut Crew,
    scene: usize,
    others: usize,
    seconds: f64,
    times: &mut [Vec<f64>; 2],
) {
    // The first one after an idle time waits for the disk.
    client.run("TRUNCATE items; SELECT snowflake_nextval()");
    thread::scope(|scope| {
        let time = Duration::from_secs_f64(seconds) + 2 * MARGIN;
        scope.spawn(move || crew.work(others, &format!("others{scene}"), time));
        thread::sleep(MARGIN);
        let observed = format!("SELECT nothing, key FROM observed{scene}($1)");
        for row in client.query(&observed, &[&seconds]).expect("times") {
            times[0].push(row.get(0));
            times[1].push(row.get(1));
        }
    });
}

/// Creates the function that measures both calls inside the server, in microseconds.
fn create_observed(client: &mut Client, index: usize, watched: &str) {
    let create = format!(
        "CREATE FUNCTION observed{index}(seconds float8, OUT nothing float8, OUT key float8)
             RETURNS SETOF record LANGUAGE plpgsql AS $$
         DECLARE
             ends timestamptz := clock_timestamp() + make_interval(secs => seconds);
             first timestamptz;
             second timestamptz;
             result bigint;
         BEGIN
             LOOP
                 PERFORM pg_sleep(0.001);
                 first := clock_timestamp();
                 result := pg_backend_pid();
                 second := clock_timestamp();
                 {watched};
                 key := extract(epoch FROM clock_timestamp() - second) * 1e6;
                 nothing := extract(epoch FROM second - first) * 1e6;
                 RETURN NEXT;
                 EXIT WHEN clock_timestamp() >= ends;
             END LOOP;
         END
         $$"
    );
    client.run(&create);
}
