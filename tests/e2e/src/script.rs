//! `sql/hosted.sql`, which gives a database functions without the library.

use std::fs;
use std::path::Path;

/// The script, with numbers in place of those that a person writes.
#[track_caller]
pub fn hosted_script(datacenter_id: &str, worker_id: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sql/hosted.sql");
    let mut text = fs::read_to_string(path).expect("the script");
    for (name, value) in [("datacenter_id", datacenter_id), ("worker_id", worker_id)] {
        let line = format!("    {name} CONSTANT pg_catalog.text := NULL;\n");
        assert_eq!(text.matches(&line).count(), 1, "{line}");
        text = text.replace(&line, &line.replace("NULL", value));
    }
    text
}
