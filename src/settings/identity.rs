//! `snowflake.datacenter_id` and `snowflake.worker_id`.
//!
//! They are texts, because PostgreSQL reads integers in other forms too: `010` is 8, and so is
//! `7.6`. A server that is taken for another one issues the other one's IDs.

use std::ffi::{CStr, CString};

use pgrx::GucSetting;
use snowflake_core::layout::Layout;

use super::text::{Text, check_hook};
use super::{Error, FIXED};

static DATACENTER: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(Some(c"-1"));
static WORKER: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(Some(c"-1"));

const LONG: &CStr =
    c"Two servers that share data must not have the same datacenter ID and the same worker ID. -1 \
     means not set: no IDs are issued.";

/// This server's datacenter; `None` where it is -1.
pub const DATACENTER_ID: Text<Option<u32>> = Text {
    name: c"snowflake.datacenter_id",
    short: c"This server's datacenter.",
    long: LONG,
    setting: &DATACENTER,
    parse: |text| parse(text, Layout::last_datacenter_id),
    hook: check_datacenter,
};

/// This server's worker; `None` where it is -1.
pub const WORKER_ID: Text<Option<u32>> = Text {
    name: c"snowflake.worker_id",
    short: c"This server's worker.",
    long: LONG,
    setting: &WORKER,
    parse: |text| parse(text, Layout::last_worker_id),
    hook: check_worker,
};

check_hook!(check_datacenter, DATACENTER_ID);
check_hook!(check_worker, WORKER_ID);

/// The two numbers that identify a server in its IDs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The datacenter.
    pub datacenter_id: u32,
    /// The worker.
    pub worker_id: u32,
}

impl Identity {
    /// What the settings say; `None` unless both are set. A part of width 0 has one value only and
    /// need not be set.
    pub(super) fn defined(layout: Layout) -> Result<Option<Identity>, Error> {
        let id = |setting: Text<Option<u32>>, last: u32| {
            setting.defined().map(|id| id.or((last == 0).then_some(0)))
        };
        let datacenter_id = id(DATACENTER_ID, layout.last_datacenter_id())?;
        let worker_id = id(WORKER_ID, layout.last_worker_id())?;
        Ok(datacenter_id
            .zip(worker_id)
            .map(|(datacenter_id, worker_id)| Identity { datacenter_id, worker_id }))
    }
}

/// Checks what the configuration says, before the settings are defined and the layout is fixed.
pub fn check_configured(layout: Layout) -> Result<(), Error> {
    for (setting, last) in
        [(DATACENTER_ID, layout.last_datacenter_id()), (WORKER_ID, layout.last_worker_id())]
    {
        if let Some(Some(id)) = setting.configured()?
            && id > last
        {
            let value = CString::new(id.to_string()).unwrap_or_default();
            return Err(Error::Setting { name: setting.name, value, rule: rule(last) });
        }
    }
    Ok(())
}

/// While the server starts, the layout is not fixed yet, and [`check_configured`] compares with it.
fn parse(text: &str, last: fn(&Layout) -> u32) -> Result<Option<u32>, String> {
    let last = FIXED.get().map(|fixed| last(&fixed.layout));
    let rule = || match last {
        Some(last) => rule(last),
        None => "The valid values are decimal numbers, and -1 for none.".to_owned(),
    };
    if text == "-1" {
        return Ok(None);
    }
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(rule());
    }
    match text.parse() {
        Ok(id) if last.is_none_or(|last| id <= last) => Ok(Some(id)),
        _ => Err(rule()),
    }
}

fn rule(last: u32) -> String {
    format!("The valid values are the decimal numbers from 0 to {last}, and -1 for none.")
}
