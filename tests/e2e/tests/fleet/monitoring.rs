//! The files of `monitoring/` for Prometheus and Grafana, with the real exporter and the real
//! Prometheus, configured as `monitoring/README.md` says.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::iter;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use snowflake_e2e::{
    Cluster, Means, Request, Service, eventually, fleet_program, free_port, http_get, lacks,
    listening_ports, output, skip,
};
use snowflake_repository::{page, tree};
use tempfile::TempDir;

use crate::twins::{INSERT, server, subscribe};

const PROGRAMS: &[Means] = &[
    Means::Program("prometheus"),
    Means::Program("prometheus-postgres-exporter"),
    Means::Program("promtool"),
];

fn path(name: &str) -> PathBuf {
    tree().join("monitoring").join(name)
}

fn text(name: &str) -> String {
    page(&format!("monitoring/{name}")).text
}

/// The block of README.md in this language.
fn block(language: &str) -> String {
    let blocks = page("monitoring/README.md").blocks();
    blocks.into_iter().find(|block| block.language == language).expect(language).text
}

/// Starts a program that answers at a port of the machine.
fn start(mut command: Command, log: PathBuf) -> (u16, Service) {
    let port = free_port();
    command.arg(format!("--web.listen-address=127.0.0.1:{port}"));
    (port, Service::start(command, log))
}

/// Each alert fires for a series with a fault, and not for one without.
#[test]
fn the_alerts_pass_their_unit_tests() {
    if lacks(&[Means::Program("promtool")]) {
        return;
    }
    for (check, file) in [("check", "alerts.yaml"), ("test", "alerts.test.yaml")] {
        let mut promtool = fleet_program("promtool");
        // A directory that every user may write to.
        promtool.env_remove("TMPDIR");
        output(promtool.args([check, "rules"]).arg(path(file)));
    }
    let (tests, alerts) = (text("alerts.test.yaml"), text("alerts.yaml"));
    let names: Vec<_> =
        alerts.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert!(names.len() >= 9);
    for name in names {
        assert!(tests.contains(&format!("alertname: {name}\n")), "{name} has no test");
    }
}

/// Alertmanager, configured as `alertmanager.yaml` says.
struct Alertmanager {
    // Goes first: its log is in the directory.
    _service: Service,
    _directory: TempDir,
    port: u16,
}

impl Alertmanager {
    /// Starts it; `None` where it is not installed.
    fn start() -> Option<Alertmanager> {
        if lacks(&[Means::Program("prometheus-alertmanager"), Means::Program("amtool")]) {
            return None;
        }
        // Debian's program reads them from there, and does not start without them.
        if !Path::new("/usr/share/prometheus/alertmanager/default.tmpl").exists() {
            skip(Means::Other("templates of Alertmanager"));
            return None;
        }
        let directory = tempfile::tempdir().expect("a directory for temporary files");
        fs::set_permissions(directory.path(), Permissions::from_mode(0o777)).expect("permissions");
        let mut command = fleet_program("prometheus-alertmanager");
        command
            .arg(format!("--config.file={}", path("alertmanager.yaml").display()))
            .arg(format!("--storage.path={}", directory.path().join("data").display()))
            .arg("--cluster.listen-address=");
        let (port, _service) = start(command, directory.path().join("log"));
        eventually("Alertmanager is ready", || http_get(port, "/-/ready").is_some());
        Some(Alertmanager { _service, _directory: directory, port })
    }

    /// Waits until it has this many alerts, and makes a notification for each of these, the alert
    /// that it begins with, and no other.
    fn wait_for(&self, alerts: usize, notifications: &[&str]) {
        let ask = |path| -> Value {
            let answer = http_get(self.port, path).expect("an answer");
            serde_json::from_str(&answer).expect("JSON")
        };
        eventually("it has all alerts", || elements(&ask("/api/v2/alerts")).len() == alerts);
        let mut expected = notifications.to_vec();
        expected.sort_unstable();
        eventually("one notification for each cause is left", || {
            let groups = ask("/api/v2/alerts/groups?inhibited=false");
            let first = |group: &Value| {
                let name = group["alerts"][0]["labels"]["alertname"].as_str();
                name.unwrap_or_default().to_owned()
            };
            let mut got: Vec<_> = elements(&groups).iter().map(first).collect();
            got.sort_unstable();
            got == expected
        });
    }
}

/// Alerts that fire when the clock is set back by two days, when two servers are twins of which one
/// gets rows of the other, when a transaction is left open, and when the clock of a primary is
/// hours or seconds behind those of its two standbys; and notifications that are left of them.
#[test]
fn one_cause_makes_one_alert() {
    const CAUSES: [(&str, &[&str]); 5] = [
        (
            "SnowflakeStepsRefused a",
            &["SnowflakeIssuesNoIds a", "SnowflakeLead a", "SnowflakeCheckFails a lead"],
        ),
        ("SnowflakeTwins", &["SnowflakeTwinRow b", "SnowflakeCheckFails b twins"]),
        ("SnowflakeHorizonHeld c", &["SnowflakeCheckFails c horizon"]),
        (
            "SnowflakeLead d",
            &[
                "SnowflakeCheckFails d lead",
                "SnowflakeCheckFails d clocks of standbys",
                "SnowflakeCheckFails e clock",
                "SnowflakeCheckFails f clock",
            ],
        ),
        ("SnowflakeCheckFails g clock", &["SnowflakeCheckFails h clock"]),
    ];
    let Some(alertmanager) = Alertmanager::start() else { return };
    for (system, (cause, follow)) in CAUSES.iter().enumerate() {
        for alert in iter::once(cause).chain(*follow) {
            let labels = ["alertname", "instance", "name"].iter().zip(alert.splitn(3, ' '));
            let labels = labels.map(|(label, value)| format!("{label}={value}"));
            let mut amtool = fleet_program("amtool");
            amtool.arg(format!("--alertmanager.url=http://127.0.0.1:{}", alertmanager.port));
            amtool.args(["alert", "add", "datacenter_id=5", "worker_id=9"]).args(labels);
            output(amtool.arg(format!("system_identifier={system}")));
        }
    }
    let alerts = CAUSES.iter().map(|(_, follow)| 1 + follow.len()).sum();
    alertmanager
        .wait_for(alerts, &CAUSES.map(|(cause, _)| cause.split(' ').next().unwrap_or_default()));
}

/// The clock of a primary is three hours behind. Its standbys notice it, too, and the dashboard
/// goes by the clock of each server.
#[test]
fn a_clock_that_is_wrong_makes_one_notification() {
    let alertmanager = Alertmanager::start();
    if lacks(PROGRAMS) {
        return;
    }
    let Some(alertmanager) = alertmanager else { return };
    let mut primary = Cluster::builder().fake_clock().create();
    start_well(&mut primary, &[]);
    let primary = Watched::primary(primary);
    let standbys = [(); 2].map(|()| {
        let mut standby = primary.cluster.base_backup(&["--write-recovery-conf"]);
        start_well(&mut standby, &[]);
        Watched::new(standby)
    });
    let servers: Vec<_> = iter::once(&primary).chain(&standbys).collect();
    let to = format!(
        "alerting:\n  alertmanagers:\n    - static_configs:\n        - targets: ['127.0.0.1:{}']\n",
        alertmanager.port
    );
    let prometheus = Prometheus::start(primary.cluster.directory(), &servers, &to);
    primary.cluster.set_clock("-3h");
    primary.cluster.run("CREATE TABLE message (id bigint DEFAULT snowflake_nextval())");
    primary.cluster.run("INSERT INTO message DEFAULT VALUES");

    let rows = [primary.fails("lead"), primary.fails("clocks of standbys")];
    let theirs = standbys.each_ref().map(|standby| standby.fails("clock"));
    prometheus.wait_for(&[&[primary.alert("SnowflakeLead")], &rows[..], &theirs].concat());
    alertmanager.wait_for(5, &["SnowflakeLead"]);
    let ahead = prometheus.panel("Floor and last ID, against the clock");
    assert!(ahead.len() == 2 && ahead.iter().all(|ahead| *ahead > 3600.0), "{ahead:?}");
}

/// A server with an exporter.
struct Watched {
    // Goes first: its log is in the directory of the cluster.
    exporter: Service,
    cluster: Cluster,
    port: u16,
}

impl Watched {
    /// Starts the exporter with the lines of its configuration that README.md gives.
    fn new(cluster: Cluster) -> Watched {
        let directory = cluster.directory();
        let place = directory.join("snowflake");
        fs::create_dir(&place).expect("a directory to write to");
        fs::copy(path("postgres_exporter.yaml"), place.join("postgres_exporter.yaml"))
            .expect("a directory to write to");
        let socket = directory.display().to_string();
        let lines =
            block("ini").replace("/run/postgresql", &socket).replace("/etc/prometheus", &socket);
        let line = |name: &str| {
            let line = lines.lines().find_map(|line| line.strip_prefix(&format!("{name}='")));
            line.expect("a line").trim_end_matches('\'').to_owned()
        };
        let mut command = fleet_program("prometheus-postgres-exporter");
        command.env("DATA_SOURCE_NAME", line("DATA_SOURCE_NAME")).args(line("ARGS").split(' '));
        if cluster.programs().major() >= 17 && exporter_is_old() {
            const NO_BGWRITER: &str = "--no-collector.bgwriter";
            let line = format!(
                "With exporter 0.11 on PostgreSQL 17 and later, add `{NO_BGWRITER}` to `ARGS`."
            );
            assert!(text("README.md").contains(&line));
            command.arg(NO_BGWRITER);
        }
        let (port, exporter) = start(command, directory.join("exporter.log"));
        Watched { cluster, port, exporter }
    }

    /// A primary that has taken an ID. The role that README.md creates has the search path that
    /// the documentation of the exporter recommends.
    fn primary(cluster: Cluster) -> Watched {
        cluster.run("CREATE EXTENSION IF NOT EXISTS snowflake; SELECT snowflake_nextval()");
        cluster.run(&block("sql"));
        cluster.run("ALTER USER prometheus SET search_path TO prometheus, pg_catalog");
        Watched::new(cluster)
    }

    fn instance(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// An alert of this server, as [`Prometheus::firing`] shows it.
    fn alert(&self, name: &str) -> String {
        format!("{name} {}", self.instance())
    }

    /// The alert of a check.
    fn fails(&self, check: &str) -> String {
        format!("{} {check}", self.alert("SnowflakeCheckFails"))
    }

    /// Returns the metrics of the exporter on snowflake_pg, without those of each setting.
    fn metrics(&self) -> String {
        let mut metrics = String::new();
        eventually("the exporter answers", || {
            metrics = http_get(self.port, "/metrics").unwrap_or_default();
            metrics.contains("snowflake_identity_info{")
        });
        // A comment names a metric, too: "# HELP name ...".
        let lines = metrics.lines().filter(|line| {
            let name = line.trim_start_matches(['#', ' ']).trim_start_matches("HELP ");
            let name = name.trim_start_matches("TYPE ").split(['{', ' ']).next();
            name.is_some_and(|name| name.contains("snowflake_") && !name.contains("pg_settings_"))
        });
        lines.map(|line| format!("{line}\n")).collect()
    }

    /// The names of these metrics.
    fn names(&self) -> BTreeSet<String> {
        let metrics = self.metrics();
        let lines = metrics.lines().filter(|line| !line.starts_with('#'));
        lines.map(|line| line.split('{').next().expect("a name").to_owned()).collect()
    }
}

/// Returns whether the exporter is version 0.11.
fn exporter_is_old() -> bool {
    let mut command = fleet_program("prometheus-postgres-exporter");
    let output = command.arg("--version").output().expect("the exporter runs");
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&text).contains("version 0.11.")
}

/// The exporter and Prometheus answer everybody at their ports. They tell, and give no power over a
/// server. A scrape logs no error.
#[test]
fn who_comes_to_the_ports_can_only_read() {
    if lacks(PROGRAMS) {
        return;
    }
    let server = Watched::primary(Cluster::start());
    let prometheus = Prometheus::start(server.cluster.directory(), &[&server], "");
    server.metrics();
    let log = server.exporter.log();
    // Version 0.17 writes it in capitals.
    assert!(!log.to_lowercase().contains("level=error"), "{log}");
    assert_eq!(listening_ports(server.exporter.pid()), [server.port].into());
    assert_eq!(listening_ports(prometheus.service.pid()), [prometheus.port].into());
    for path in ["/-/reload", "/-/quit", "/api/v1/admin/tsdb/clean_tombstones", "/api/v1/write"] {
        let answer = Request::new("POST", path, "").ask(prometheus.port);
        let (status, _) = answer.expect("an answer");
        assert!(status >= 400, "{path}: {status}");
    }
    let powers = "
        SELECT count(*) FROM pg_roles
        WHERE pg_has_role('prometheus', oid, 'MEMBER') AND (rolsuper OR rolcreaterole OR rolcreatedb
            OR rolreplication OR rolname ~ '^pg_(write|execute|read_server|signal|checkpoint)')";
    assert_eq!(server.cluster.bigint(powers), 0);
}

/// Prometheus, which asks the exporters every second.
struct Prometheus {
    port: u16,
    service: Service,
}

impl Prometheus {
    /// Starts it with the configuration that README.md gives, and more lines. Alerts fire after
    /// seconds.
    fn start(directory: &Path, servers: &[&Watched], more: &str) -> Prometheus {
        let instances: Vec<_> = servers.iter().map(|server| server.instance()).collect();
        let targets = "['db-1:9187', 'db-2:9187']";
        let configuration = block("yaml");
        assert!(configuration.contains(targets));
        let configuration = configuration.replace(targets, &format!("{instances:?}"));
        let global = "global:\n  scrape_interval: 1s\n  evaluation_interval: 1s\n";
        let file = directory.join("prometheus.yml");
        fs::write(&file, [global, &configuration, more].concat()).expect("a directory to write to");
        let mut copy = Command::new("sh");
        copy.arg("-c")
            .arg(block("console").replace("/etc/prometheus", &directory.to_string_lossy()));
        output(copy.current_dir(tree().join("monitoring")));
        let alerts = fs::read_to_string(directory.join("snowflake/alerts.yaml")).expect("alerts");
        assert!(!alerts.contains("git.example.com"), "an address of nobody is left");
        let lines = alerts.lines().map(|line| match line.split_once("for: ") {
            Some((indent, _)) => format!("{indent}for: 2s\n"),
            None => format!("{line}\n"),
        });
        fs::write(directory.join("snowflake/alerts.yaml"), lines.collect::<String>())
            .expect("a directory to write to");
        let mut command = fleet_program("prometheus");
        command
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.tsdb.path={}", directory.join("prometheus").display()));
        let (port, service) = start(command, directory.join("prometheus.log"));
        eventually("Prometheus is ready", || http_get(port, "/-/ready").is_some());
        Prometheus { port, service }
    }

    /// The data that its API has at this path.
    fn api(&self, path: &str) -> Value {
        let answer = http_get(self.port, &format!("/api/v1/{path}"));
        let answer = answer.unwrap_or_else(|| panic!("Prometheus refuses {path}"));
        serde_json::from_str::<Value>(&answer).expect("JSON")["data"].take()
    }

    /// Returns the result of an expression of the dashboard for these servers.
    fn result(&self, expression: &str) -> Value {
        let query = expression.replace("$instance", ".*").replace("$__rate_interval", "3s");
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        self.api(&format!("query?query={encoded}"))["result"].take()
    }

    /// The numbers that the panel of this title shows.
    fn panel(&self, title: &str) -> Vec<f64> {
        let panel = panels().into_iter().find(|panel| panel["title"] == title).expect(title);
        let shown = elements(&panel["targets"]).iter().flat_map(|target| {
            let result = self.result(target["expr"].as_str().expect("an expression"));
            elements(&result).to_vec()
        });
        let numbers = shown.map(|shown| shown["value"][1].as_str().expect("a value").to_owned());
        numbers
            .map(|number| number.parse().expect("a number"))
            .filter(|it: &f64| !it.is_nan())
            .collect()
    }

    /// Waits until these alerts fire, and no other. Each has the labels that tell them apart.
    #[track_caller]
    fn wait_for(&self, expected: &[String]) {
        let expected: BTreeSet<String> = expected.iter().cloned().collect();
        let names = ["alertname", "datacenter_id", "worker_id", "instance", "name"];
        let mut before = BTreeSet::new();
        eventually("the alerts fire", || {
            let alerts = self.api("alerts");
            let firing = elements(&alerts["alerts"]).iter();
            let firing = firing.filter(|alert| alert["state"] == "firing").map(|alert| {
                let labels = names.iter().filter_map(|name| alert["labels"][name].as_str());
                labels.collect::<Vec<_>>().join(" ")
            });
            let firing = firing.collect();
            if firing != before {
                println!("firing: {firing:?}");
                before = firing;
            }
            before == expected
        });
    }
}

fn elements(value: &Value) -> &[Value] {
    value.as_array().expect("an array")
}

/// The panels of the dashboard.
fn panels() -> Vec<Value> {
    let dashboard: Value = serde_json::from_str(&text("dashboard.json")).expect("JSON");
    elements(&dashboard["panels"]).to_vec()
}

/// The metrics of snowflake_pg that an expression names, of which all have to be exported. It might
/// ask who answers instead.
#[track_caller]
fn metrics_of(expression: &Value, exported: &BTreeSet<String>) -> BTreeSet<String> {
    let expression = expression.as_str().expect("an expression");
    let words = expression.split(|c: char| !c.is_ascii_lowercase() && c != '_');
    let is_ours = |word: &&str| {
        ["snowflake_", "pg_stat_snowflake_"].iter().any(|prefix| word.starts_with(prefix))
    };
    let metrics: BTreeSet<_> = words.filter(is_ours).map(str::to_owned).collect();
    let asks_who_answers = expression.starts_with("up{") || expression.starts_with("pg_up{");
    assert!(metrics.is_empty() == asks_who_answers && metrics.is_subset(exported), "{expression}");
    metrics
}

/// Asserts that there are all metrics of the alerts, and that each expression of the dashboard
/// gives something.
fn assert_alerts_and_dashboard_have_data(prometheus: &Prometheus, exported: &BTreeSet<String>) {
    let rules = prometheus.api("rules");
    let rules = elements(&rules["groups"][0]["rules"]);
    assert!(rules.len() >= 9);
    for rule in rules {
        assert_eq!(rule["health"], "ok", "{rule}");
        metrics_of(&rule["query"], exported);
    }
    let mut shown = BTreeSet::new();
    for target in panels().iter().flat_map(|panel| elements(&panel["targets"])) {
        shown.extend(metrics_of(&target["expr"], exported));
        let expression = target["expr"].as_str().expect("an expression");
        eventually(expression, || !elements(&prometheus.result(expression)).is_empty());
    }
    assert_eq!(exported, &shown, "on the dashboard");
}

/// Starts the server with an identity that is not in its data directory: every check passes.
fn start_well(cluster: &mut Cluster, more: &[&str]) {
    let identity = ["-c", "snowflake.datacenter_id=5", "-c", "snowflake.worker_id=8"];
    cluster.start_with(&[&identity, more].concat()).expect("a start");
}

/// A primary and its standby, both well, with an identity of their own.
fn well_pair() -> (Watched, Watched) {
    let mut primary = Cluster::builder().create();
    start_well(&mut primary, &[]);
    let primary = Watched::primary(primary);
    let mut standby = primary.cluster.base_backup(&["--write-recovery-conf"]);
    start_well(&mut standby, &[]);
    let standby = Watched::new(standby);
    assert!(standby.metrics().contains("role=\"standby\""));
    assert_eq!(primary.names(), standby.names());
    // Their names are as Prometheus wants them.
    let file = primary.cluster.directory().join("metrics");
    fs::write(&file, primary.metrics()).expect("a directory to write to");
    let file = File::open(file).expect("a file");
    output(fleet_program("promtool").args(["check", "metrics"]).stdin(file));
    (primary, standby)
}

/// Two primaries with one identity are found, and nobody else is. So are rows that one of them
/// received from the other, a check that fails, a server without metrics, and a standby that would
/// issue no IDs. The role of the exporters is only a member of pg_monitor.
#[test]
fn prometheus_finds_twins_and_who_is_not_well() {
    if lacks(PROGRAMS) {
        return;
    }
    let [one, mut other] = [(), ()].map(|()| Watched::primary(server("9", "'id'")));
    let (well, mut standby) = well_pair();
    let exported = well.names();
    let directory = well.cluster.directory();
    let prometheus = Prometheus::start(directory, &[&one, &other, &well, &standby], "");

    let twins = || "SnowflakeTwins 5 9".to_owned();
    let origin = |server: &Watched| server.fails("origin of the identity");
    prometheus.wait_for(&[twins(), origin(&one), origin(&other)]);
    assert_alerts_and_dashboard_have_data(&prometheus, &exported);

    subscribe(&other.cluster, &one.cluster, "s", "copy_data = false");
    one.cluster.run(INSERT);
    let row = format!("SnowflakeTwinRow 5 9 {}", other.instance());
    let received = [row.clone(), other.fails("twins")];
    prometheus.wait_for(&[&[twins(), origin(&one), origin(&other)][..], &received].concat());

    // The alert fires until the counters are reset, and so long the dashboard shows the row.
    let increase = "increase(pg_stat_snowflake_twins_total[$__rate_interval]) > 0";
    eventually("the row is old", || elements(&prometheus.result(increase)).is_empty());
    let rows = prometheus.panel("Twin rows since the last reset");
    assert_eq!(rows.iter().filter(|rows| **rows > 0.0).count(), 1, "{rows:?}");

    assert!(!prometheus.panel("Servers that answer").contains(&0.0));
    other.cluster.stop();
    let remain = [origin(&one), other.alert("SnowflakeMetricsMissing")];
    prometheus.wait_for(&remain);
    let answers = prometheus.panel("Servers that answer");
    assert_eq!(answers.iter().filter(|answers| **answers == 0.0).count(), 1, "{answers:?}");

    standby.cluster.stop();
    start_well(&mut standby.cluster, &["-c", "shared_preload_libraries="]);
    let no_ids = format!("{} issues IDs", standby.alert("SnowflakeIssuesNoIds"));
    prometheus.wait_for(&[&remain[..], &[no_ids, standby.fails("preloading")]].concat());
    // Without the library, there are all metrics but those of a generator, and no query raises an
    // error.
    let names = standby.names();
    let lacking: Vec<_> = exported.difference(&names).collect();
    assert!(!lacking.is_empty() && lacking.iter().all(|name| name.starts_with("pg_stat_")));
    standby.cluster.assert_not_logged("must be loaded via");
}
