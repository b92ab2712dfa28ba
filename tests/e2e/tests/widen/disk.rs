//! A disk that is full during the backfill.

use std::path::Path;
use std::process::{Command, Stdio};

use snowflake_e2e::{Cluster, Means, bigint, create_directory, skip};

use super::program::{run, succeed};
use super::shops::{cluster, owner};

/// A small file system in memory, which not everybody may mount.
struct Mounted<'a>(&'a Path);

impl Mounted<'_> {
    fn new(directory: &Path) -> Option<Mounted<'_>> {
        create_directory(directory);
        mount(directory, "size=20m").then_some(Mounted(directory))
    }

    fn enlarge(&self) {
        assert!(mount(self.0, "remount,size=200m"), "it is ours");
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0).status();
    }
}

fn mount(directory: &Path, options: &str) -> bool {
    let mut command = Command::new("mount");
    command.args(["-t", "tmpfs", "-o", options, "snowflake"]).arg(directory);
    command.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

#[test]
fn what_fills_the_disk_ends_with_an_error_and_goes_on_later() {
    let cluster = cluster(Cluster::builder());
    let directory = cluster.directory().join("small");
    let Some(mounted) = Mounted::new(&directory) else {
        skip(Means::Other("mount"));
        return;
    };
    let space = directory.join("space");
    create_directory(&space);
    let create = format!("CREATE TABLESPACE small LOCATION '{}'", space.display());
    let mut admin = cluster.connect();
    admin.batch_execute(&create).expect("a tablespace");
    admin.batch_execute("GRANT CREATE ON TABLESPACE small TO app").expect("granted");
    let mut client = owner(&cluster, "postgres");
    // Nobody vacuums what another session could still see, so each row that is copied takes new space.
    client
        .batch_execute(
            "CREATE TABLE orders (id serial PRIMARY KEY, item text) TABLESPACE small;
             INSERT INTO orders (item) SELECT repeat('x', 80) FROM generate_series(1, 110000)",
        )
        .expect("rows");
    client.batch_execute("ANALYZE orders").expect("analyzed");
    let mut reader = cluster.connect();
    reader
        .batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM pg_class LIMIT 1")
        .expect("a snapshot");
    let said = run(&cluster, &["prepare", "orders"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.errors.contains("No space left on device"), "{said:?}");
    assert!(said.out.contains("backfill: app.orders\n"), "{said:?}");
    // The application reads on, and updates what has its shadow already.
    assert_eq!(bigint(&mut client, "SELECT count(*) FROM orders"), 110_000);

    reader.batch_execute("COMMIT").expect("the reader ends");
    mounted.enlarge();
    succeed(&cluster, &["prepare", "orders"]);
    succeed(&cluster, &["swap", "orders"]);
    assert_eq!(bigint(&mut client, "SELECT count(*) FROM orders WHERE id > 0"), 110_000);
    drop((client, admin, reader));
    // The mount can only go after the server.
    drop(cluster);
    drop(mounted);
}
