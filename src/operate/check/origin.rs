//! Where the identity of this server comes from, and whether another server might have it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::pg::encoding::encode_file_name;
use crate::pg::own_table::OwnTable;
use crate::pg::{data_directory, spi, time};
use pgrx::datum::TimestampWithTimeZone;

use super::facts::Facts;
use super::finding::{Finding, State};
use super::rights::{is_true, may_read};
use crate::fleet::nodes;
use crate::promise::preview::Preview;
use crate::settings::{Identity, Named};

/// A setting, its source, the file and the line, and what else is said of it.
type Setting = (String, String, Option<String>, Option<i32>, Option<String>);

const WORKER_ID: &str = "snowflake.worker_id";
const WORKER_ID_FROM: &str = "snowflake.worker_id_from";

/// Where the identity comes from. A file inside the data directory is in every copy of that
/// directory, which does no harm where the copy does not fulfil `snowflake.identity_requires`.
pub fn of_identity(facts: &Facts) -> Finding {
    if !may_read("pg_settings") {
        return Finding::well("Not checked: this role may not read pg_settings.");
    }
    let overridden = if may_read_files() { OVERRIDDEN } else { "NULL" };
    let rows = spi::query(
        &format!(
            "SELECT s.name, s.source, s.sourcefile, s.sourceline, {overridden} FROM pg_settings AS s
             WHERE s.name IN ('snowflake.datacenter_id', 'snowflake.worker_id',
                              'snowflake.worker_id_from') ORDER BY s.name"
        ),
        &[],
    );
    // Without links.
    let directory = fs::canonicalize(data_directory()).unwrap_or_else(|_| data_directory());
    let named = facts.fixed.named.as_ref();
    let (mut origins, mut overridden, mut is_copied) = (Vec::new(), Vec::new(), false);
    for row in rows {
        let (setting, source, file, line, others): Setting = row;
        overridden.extend(others.map(|others| format!("{setting} = {others}")));
        // Only one of the two says which worker it is, unless both are set.
        let is_looked_for = match &*setting {
            WORKER_ID_FROM => named.is_some(),
            WORKER_ID => named.is_none(),
            _ => true,
        };
        if source == "default" && !is_looked_for {
            continue;
        }
        origins.push(match file.zip(line) {
            Some((file, line)) => {
                is_copied |= is_below(&file, &directory);
                format!("{setting}: {file}, line {line}")
            }
            None => format!("{setting}: {source}"),
        });
    }
    let origins = origins.join("; ");
    if !overridden.is_empty() {
        Finding::doubtful(
            format!("{origins}. These values are not in force: {}.", overridden.join("; ")),
            "Set the identity in one place. If the server is started in another way, another of \
             these values might take effect.",
        )
    } else if let Some(named) = named {
        of_name(named, &origins, facts.fixed.identity)
    } else if is_copied && facts.fixed.is_conditional && facts.fixed.identity.is_some() {
        Finding::well(format!(
            "{origins}. This is inside the data directory, and what snowflake.identity_requires \
             says holds here."
        ))
    } else if is_copied {
        Finding::doubtful(
            format!(
                "{origins}. This is inside the data directory, so every copy of it has this \
                 identity."
            ),
            "Set the identity on the command line, or in a file outside the data directory that \
             postgresql.conf includes. Where neither is possible, set snowflake.identity_requires.",
        )
    } else {
        Finding::well(format!("{origins}."))
    }
}

/// An identity whose worker ID is in the name of the server. A copy under another name issues no
/// IDs, so it may be inside the data directory.
fn of_name(named: &Named, origins: &str, identity: Option<Identity>) -> Finding {
    let gives = match identity {
        Some(Identity { worker_id, .. }) => format!("The worker ID is {worker_id}."),
        None => "No ID is issued.".to_owned(),
    };
    let detail = format!("{origins}. {} {gives}", named.describe());
    match named.renamed() {
        None => Finding::well(detail),
        Some(name) => Finding::doubtful(
            format!("{detail} The name is \"{name}\" now, and counts from the next start on."),
            "Give the machine its name back, or restart the server.",
        ),
    }
}

/// Checks that this server is no copy that has the identity of its original.
pub fn restored_copy(facts: &Facts) -> Finding {
    let might_be_a_copy = match facts.preview {
        Ok(Preview { might_be_a_copy, .. }) if facts.fixed.preloaded => {
            might_be_a_copy && facts.fixed.identity.is_some()
        }
        _ => return Finding::unknown(),
    };
    if !might_be_a_copy {
        return Finding::well("Nothing says that this server has the identity of an original.");
    }
    Finding::doubtful(
        "This server, or one that it is a copy of, was restored, and has the identity of its \
         original.",
        "If the original runs on, give this server a datacenter and worker ID of its own, and \
         restart it. Otherwise, set a floor above every ID that the original has issued: SELECT \
         snowflake_set_floor(greatest(snowflake_floor(), '...')).",
    )
}

/// Checks that the claims of this database agree that this server has its identity, and that no
/// other database gives out identities, too.
pub fn claims(facts: &Facts) -> Finding {
    let databases = if may_read("pg_shdepend") { nodes::with_claims() } else { Vec::new() };
    if databases.len() > 1 {
        return Finding::doubtful(
            format!(
                "Databases of this server that have claims: {}. Each gives out the same \
                 identities.",
                databases.join(", ")
            ),
            "Compare snowflake_nodes of these databases. Claim in one of them alone, where every \
             server is entered, and drop the extension, or the database, where it is not needed.",
        );
    }
    let table = OwnTable::of(facts.function, nodes::TABLE).filter(|table| table.is_readable);
    let Some(table) = table else {
        return Finding::well(format!("Not checked: this role cannot read {}.", nodes::TABLE));
    };
    let Some(own) = nodes::own_identity() else { return Finding::unknown() };
    if let Err(replaced) = table.keep_name() {
        return Finding { state: State::Doubtful, ..Finding::blocking(replaced) };
    }
    let query = format!(
        "SELECT c.name, c.released_at::text, c.start_after
         FROM {} AS c WHERE c.datacenter_id = $1 AND c.worker_id = $2",
        table.name
    );
    let claim: Option<(Option<String>, Option<String>, Option<TimestampWithTimeZone>)> =
        spi::query(&query, &own.map(spi::int4)).pop();
    let Some((name, released_at, start_after)) = claim else {
        return Finding::well("No claim in this database is of the identity of this server.");
    };
    let name = name.unwrap_or_default();
    if let Some(released_at) = released_at {
        return Finding::doubtful(
            format!("Node \"{name}\" released the identity of this server at {released_at}."),
            "Set both IDs to -1, and restart this server, before another one gets the identity. If \
             this server keeps it, claim it again by both numbers.",
        );
    }
    match (start_after.map(time::ceil_ms), &facts.preview) {
        (Some(start_after), Ok(preview)) if preview.after < start_after => Finding::doubtful(
            format!(
                "Node \"{name}\" has claimed the identity of this server, which must start after \
                 {}, and its next ID is after {}.",
                time::display(start_after),
                time::display(preview.after)
            ),
            "Set snowflake.start_after as the claim says, and restart this server.",
        ),
        _ => Finding::well(format!("Node \"{name}\" has claimed the identity of this server.")),
    }
}

/// Other values that files of the configuration give to a setting. In each file, the last line
/// counts.
const OVERRIDDEN: &str = "
    (SELECT string_agg(f.setting || ' in ' || f.sourcefile || ', line ' || f.sourceline, ', '
                       ORDER BY f.seqno)
     FROM (SELECT DISTINCT ON (f.sourcefile) f.* FROM pg_file_settings AS f
           WHERE f.name = s.name
           ORDER BY f.sourcefile, f.seqno DESC) AS f
     WHERE ltrim(f.setting, '0') <> ltrim(s.setting, '0'))";

/// Returns whether this role may read `pg_file_settings`: the view, and the function that it calls.
fn may_read_files() -> bool {
    may_read("pg_file_settings")
        && is_true("has_function_privilege('pg_catalog.pg_show_all_file_settings()', 'EXECUTE')")
}

fn is_below(file: &str, directory: &Path) -> bool {
    // The name as the server has it, whatever the encoding of the database.
    let name = encode_file_name(file);
    let path = Path::new(OsStr::from_bytes(name.as_bytes()));
    fs::canonicalize(path).is_ok_and(|file| file.starts_with(directory))
}
