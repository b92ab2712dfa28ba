//! `snowflake.identity_requires`: what has to hold where the server may issue IDs.
//!
//! A copy of a data directory has the identity that is set in it. Where it cannot be set outside, a
//! name that the copy does not have tells it from its original: that of the cluster, in the
//! environment, or that of the machine.

use std::env;
use std::ffi::OsStr;
use std::fs;

/// The name that stands for the machine's own.
const HOST_NAME: &str = "hostname";

/// A name and the value that it has to have.
pub struct Condition {
    name: String,
    value: String,
}

/// Reads the conditions, which are separated by commas.
pub fn parse(text: &str) -> Result<Vec<Condition>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    text.split(',').map(condition).collect::<Option<_>>().ok_or_else(|| {
        "The valid values are a list of conditions, separated by commas, such as \
         'CLUSTER_NAME=shop, hostname=db-1': hostname or the name of an environment variable, an \
         equals sign, and the value; and the empty string."
            .to_owned()
    })
}

fn condition(text: &str) -> Option<Condition> {
    let (name, value) = text.split_once('=')?;
    let [name, value] = [name.trim(), value.trim()];
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name.bytes().next().is_some_and(|first| !first.is_ascii_digit());
    (is_name && !value.is_empty()).then(|| Condition { name: name.into(), value: value.into() })
}

/// The first condition that does not hold for this process, as a sentence. What holds instead is not
/// said, because anybody who asks for an ID reads the sentence.
pub fn unmet(conditions: &[Condition]) -> Option<String> {
    conditions.iter().find_map(|Condition { name, value }| {
        let (what, holds) = if name == HOST_NAME {
            ("The name of the machine".to_owned(), host_name() == Some(value.clone()))
        } else {
            let is = env::var_os(name);
            (format!("The environment variable {name}"), is.as_deref() == Some(OsStr::new(value)))
        };
        (!holds).then(|| format!("{what} is not \"{value}\"."))
    })
}

/// The name of the machine, or of the container.
fn host_name() -> Option<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim_end().to_owned())
}
