//! The check that the library, the installed files and the extension are of one release.

use crate::pg::library_function::extension_of;
use crate::pg::spi;

use super::facts::Facts;
use super::finding::Finding;
use super::rights::may_read;

/// The version of the library that runs.
const LIBRARY: &str = env!("CARGO_PKG_VERSION");

/// The version of the extension `$1`, and that of its control file.
const VERSIONS: &str = "
    SELECT e.extversion, (SELECT a.default_version FROM pg_available_extensions AS a
                          WHERE a.name = e.extname)
    FROM pg_extension AS e WHERE e.oid = $1";

/// Checks that they are of one release.
pub fn version(facts: &Facts) -> Finding {
    if !may_read("pg_available_extensions") {
        return Finding::well("Not checked: this role may not read pg_available_extensions.");
    }
    let Some((extension, files)) =
        spi::query::<(String, Option<String>)>(VERSIONS, &[spi::oid(extension_of(facts.function))])
            .pop()
    else {
        return Finding::unknown();
    };
    let Some(files) = files else {
        return Finding::doubtful(
            format!("The library is {LIBRARY}, but the extension has no control file."),
            "Install the package of the library again.",
        );
    };
    if [&*files, &*extension] == [LIBRARY; 2] {
        return Finding::well(format!("The library, its files and the extension are {LIBRARY}."));
    }
    let update = "Execute ALTER EXTENSION snowflake UPDATE in this database, on the primary.";
    Finding::doubtful(
        format!(
            "The library is {LIBRARY}, the files are {files}, and the extension of this database \
             is {extension}."
        ),
        &if files != LIBRARY {
            let restart = "Restart the server, which then loads the library of these files.";
            if extension == files { restart.to_owned() } else { format!("{restart} {update}") }
        } else if parts(&extension) > parts(LIBRARY) {
            format!("Install release {extension} on this server, and restart it.")
        } else {
            update.to_owned()
        },
    )
}

/// The numbers of a version, which compare as versions do.
fn parts(version: &str) -> Vec<Option<u32>> {
    version.split('.').map(|part| part.parse().ok()).collect()
}
