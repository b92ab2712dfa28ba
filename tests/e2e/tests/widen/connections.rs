//! How the program connects.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use snowflake_e2e::{Cluster, Means, free_port, lacks, new_password, output, skip};

use super::program::{Running, Said, run, widen};
use super::shops::with_orders;

/// Makes an authority, and a certificate of it for localhost.
fn make_certificates(directory: &Path) {
    let commands = "
        set -e
        new() { openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \"$@\"; }
        new -x509 -subj /CN=authority -keyout ca.key -out ca.crt
        new -x509 -subj /CN=another -keyout other.key -out other.crt
        new -subj /CN=server -keyout server.key -out server.csr
        echo subjectAltName=DNS:localhost >names
        openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial \
            -extfile names -out server.crt";
    output(Command::new("sh").current_dir(directory).args(["-c", commands]));
}

/// The server also listens to TCP, where it demands TLS and a password. Its port is another one than
/// that of its socket, which has a name that says the former. `None` where the server was built without
/// TLS.
fn with_tls(port: u16, password: &str) -> Option<Cluster> {
    let mut cluster = with_orders(Cluster::builder(), 10);
    let library = "SELECT setting <> '' FROM pg_settings WHERE name = 'ssl_library'";
    if !cluster.connect().query_one(library, &[]).expect("a setting").get::<_, bool>(0) {
        skip(Means::Other("TLS of the server"));
        return None;
    }
    let set = format!("ALTER ROLE app PASSWORD '{password}'");
    cluster.connect().batch_execute(&set).expect("a password");
    cluster.stop();
    let directory = cluster.directory().to_owned();
    make_certificates(&directory);
    let rules = "local all all trust\nhostssl all all all scram-sha-256\n";
    fs::write(cluster.data().join("pg_hba.conf"), rules).expect("a file");
    for name in ["server.crt", "server.key"] {
        let to = cluster.data().join(name);
        fs::copy(directory.join(name), &to).expect("copied");
        fs::set_permissions(&to, Permissions::from_mode(0o600)).expect("our own");
        // As the data directory does, they belong to the user who runs the server.
        output(Command::new("chown").arg("--reference").arg(cluster.data()).arg(&to));
    }
    cluster.configure(&[("ssl", "on"), ("listen_addresses", "127.0.0.1")]);
    symlink(format!(".s.PGSQL.{port}"), directory.join(".s.PGSQL.5432")).expect("a link");
    cluster.start_with(&["-p", &port.to_string()]).expect("it starts");
    Some(cluster)
}

#[test]
fn passwords_and_certificates_are_those_of_the_environment() {
    if lacks(&[Means::Program("openssl")]) {
        return;
    }
    let (port, password) = (free_port(), new_password());
    let Some(cluster) = with_tls(port, &password) else {
        return;
    };
    let status = |host: &str, environment: &[(&str, &str)]| -> Said {
        let words = ["status", "-w", "-h", host, "-p", &port.to_string()];
        let mut command = widen(&cluster, &words);
        command.env("HOME", cluster.directory()).envs(environment.iter().copied());
        Running::start(command).end()
    };
    let file = |name: &str| cluster.directory().join(name).display().to_string();
    let [ca, other] = ["ca.crt", "other.crt"].map(file);
    let with_password = ("PGPASSWORD", &*password);

    assert_eq!(status("localhost", &[with_password]).code, Some(0));
    let wrong = status("localhost", &[("PGPASSWORD", "wrong")]);
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    assert!(wrong.errors.starts_with("FATAL:  password authentication failed"), "{wrong:?}");
    let none = status("localhost", &[]);
    assert_eq!(none.code, Some(2), "{none:?}");
    let plain = status("localhost", &[with_password, ("PGSSLMODE", "disable")]);
    assert!(plain.errors.contains("no encryption"), "{plain:?}");

    for (host, mode, root, expected) in [
        ("localhost", "require", &other, 0),
        ("localhost", "verify-full", &ca, 0),
        ("127.0.0.1", "verify-ca", &ca, 0),
        ("127.0.0.1", "verify-full", &ca, 2),
        ("localhost", "verify-ca", &other, 2),
    ] {
        let environment = [with_password, ("PGSSLMODE", mode), ("PGSSLROOTCERT", &**root)];
        let said = status(host, &environment);
        assert_eq!(said.code, Some(expected), "{host} {mode} {root}: {said:?}");
    }

    let passwords = file("passwords");
    let line = format!("localhost:{port}:postgres:app:{password}\n");
    fs::write(&passwords, line).expect("a directory to write to");
    fs::set_permissions(&passwords, Permissions::from_mode(0o600)).expect("our own");
    let by_file = status("localhost", &[("PGPASSFILE", &passwords)]);
    assert_eq!(by_file.code, Some(0), "{by_file:?}");
    fs::set_permissions(&passwords, Permissions::from_mode(0o644)).expect("our own");
    let open = status("localhost", &[("PGPASSFILE", &passwords)]);
    assert!(open.errors.contains("has group or world access"), "{open:?}");
}

/// A connection string counts before options, and these before the environment.
#[test]
fn options_and_a_connection_string_name_the_server() {
    let cluster = with_orders(Cluster::builder(), 10);
    let directory = cluster.directory().display().to_string();
    let fails_without = ["-h", "/nowhere", "-p", "1"];
    assert_eq!(run(&cluster, &[&["status"], &fails_without[..]].concat()).code, Some(2));
    let encoded = directory.replace('/', "%2F");
    for string in [
        format!("host={directory} port=5432 dbname=postgres user=app"),
        format!("postgresql://app@{encoded}:5432/postgres"),
    ] {
        let words = [&["status", "-d", &string], &fails_without[..]].concat();
        let said = run(&cluster, &words);
        assert_eq!(said.code, Some(0), "{string}: {said:?}");
    }
    let words = ["-h", &directory, "-p", "5432", "-U", "app", "-d", "postgres", "status"];
    let mut command = widen(&cluster, &words);
    for name in ["PGHOST", "PGPORT", "PGUSER", "PGDATABASE"] {
        command.env_remove(name);
    }
    assert_eq!(Running::start(command).end().code, Some(0));
}
