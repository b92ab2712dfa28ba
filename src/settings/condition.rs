//! Conditions of an identity, and the worker ID that the name of this server gives: the one place
//! that reads names and compares them.

use std::borrow::Cow;
use std::ffi::OsString;
use std::{env, fs};

use crate::pg::report::ErrorReport;
use snowflake_core::condition::{Condition, Found, Numbered, parse};
use snowflake_core::layout::{Layout, Widths};

use super::error;

/// The name that stands for the machine's own.
const HOST_NAME: &str = "hostname";

/// Reads `snowflake.identity_requires`.
pub fn conditions(text: &str) -> Result<Vec<Condition>, String> {
    parse(text).ok_or_else(|| {
        "The valid values are a list of conditions, separated by commas, such as \
         'CLUSTER_NAME=shop, hostname=db-1': hostname or the name of an environment variable, an \
         equals sign, and the value; and the empty string."
            .to_owned()
    })
}

/// Reads `snowflake.worker_id_from`; `None` where it is empty.
pub fn numbered(text: &str) -> Result<Option<Numbered>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    Numbered::parse(text).map(Some).ok_or_else(|| {
        "The valid values are a list of conditions, separated by commas, of which one has one \
         asterisk for the number, such as 'hostname=db-*' or 'HOSTNAME=shop-*, NAMESPACE=shop-db': \
         hostname or the name of an environment variable, an equals sign, and the value; and the \
         empty string."
            .to_owned()
    })
}

/// The first condition that does not hold for this process, as a sentence. What holds instead is
/// not said, because anybody who asks for an ID reads the sentence.
pub fn unmet(conditions: &[Condition]) -> Option<String> {
    conditions.iter().find_map(|condition| {
        let Condition { name, value } = condition;
        let holds = here(name).is_some_and(|found| found == **value);
        (!holds).then(|| format!("{} is not \"{value}\".", capitalized(&what(name))))
    })
}

/// The number in the name of this server, as it was when the server started.
pub struct Named {
    numbered: Numbered,
    /// The name, if there is one.
    name: Option<OsString>,
    unmet: Option<String>,
    found: Found,
}

impl Named {
    /// Looks for it.
    pub fn look(numbered: Numbered) -> Named {
        let (name, unmet) = (here(&numbered.pattern.name), unmet(&numbered.conditions));
        let number = || Some(numbered.pattern.number(name.as_ref()?.to_str()?));
        let found = if unmet.is_none() { number() } else { None };
        Named { found: found.unwrap_or(Found::NoNumber), numbered, name, unmet }
    }

    /// The worker ID, if this layout holds it.
    pub fn worker_id(&self, layout: &Layout) -> Option<u32> {
        match self.found {
            Found::Number(number) if number <= layout.last_worker_id() => Some(number),
            _ => None,
        }
    }

    /// Returns whether a number was found, and is another one.
    pub fn contradicts(&self, worker_id: u32) -> bool {
        !matches!(self.found, Found::NoNumber) && self.found != Found::Number(worker_id)
    }

    /// The pattern, and what was found.
    pub fn describe(&self) -> String {
        let Condition { name, value } = &self.numbered.pattern;
        let found = match &self.name {
            Some(found) => format!("is \"{}\"", found.display()),
            None => "is not set".to_owned(),
        };
        format!("The pattern is \"{name}={value}\", and {} {found}.", what(name))
    }

    /// Returns the reason for which it gives no worker ID.
    pub fn refusal(&self, layout: &Layout, datacenter_id: Option<u32>) -> ErrorReport {
        let (mut detail, last) = (self.describe(), layout.last_worker_id());
        let mut wider = None;
        match (&self.unmet, self.found) {
            (Some(unmet), _) => detail = format!("{detail} {unmet}"),
            (None, Found::NoNumber) => {}
            (None, Found::TooLarge | Found::Number(_)) => {
                detail = format!("{detail} The last worker ID is {last}.");
                wider = Some(self.widths(layout, datacenter_id));
            }
        }
        error::no_number(detail, wider)
    }

    fn widths(&self, layout: &Layout, datacenter_id: Option<u32>) -> Option<Widths> {
        let Found::Number(number) = self.found else { return None };
        layout.widths_with_worker(datacenter_id.unwrap_or_default(), number)
    }

    /// The name that the machine has now, if it is another one. Environments do not change.
    pub fn renamed(&self) -> Option<String> {
        let now = here(&self.numbered.pattern.name).filter(|now| self.name.as_ref() != Some(now));
        now.map(|name| name.display().to_string())
    }
}

/// Describes the thing that a name of a condition stands for.
fn what(name: &str) -> Cow<'static, str> {
    match name {
        HOST_NAME => "the name of the machine".into(),
        name => format!("the environment variable {name}").into(),
    }
}

fn capitalized(text: &str) -> String {
    text.replacen("the", "The", 1)
}

/// Returns its value for this process.
fn here(name: &str) -> Option<OsString> {
    if name != HOST_NAME {
        return env::var_os(name);
    }
    // The name of the machine, or of the container.
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim_end().into())
}
