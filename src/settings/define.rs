//! Checks and defines the settings, and fixes layout and identity.
//!
//! A bad value in `postgresql.conf` stops the server's start. PostgreSQL itself would only warn,
//! and use the default, so each value is checked here before its setting is defined.
//!
//! Without preloading, the library only decodes. Settings that are fixed when the server starts
//! cannot be defined then. They are fixed when a session starts instead, and only a superuser can
//! choose them.

use std::ffi::CString;

use crate::pg::report::{ErrorReport, OrRaise};
use pgrx::{GucContext, pg_sys};
use snowflake_core::layout::{Layout, TWITTER_EPOCH, Widths};
use snowflake_core::time::Timestamp;

use super::condition::Named;
use super::error::{self, wrong_value};
use super::fixed::{FIXED, Fixed, Identity};
use super::integer::{Int, When};
use super::table::{
    ADOPTED_SCHEMAS, DATACENTER_ID, EPOCH, IDENTITY_REQUIRES, LIMITS, PUBLIC_KEY_FILE, START_AFTER,
    WIDTHS, WORKER_ID, WORKER_ID_FROM,
};
use super::{condition, placeholder, valid};

/// Defines all settings and fixes layout and identity. Raises an error, which stops the start of a
/// server, when a value is not valid.
pub fn init(preloading: bool) {
    // First look, then define: a definition cannot be taken back, and a library whose loading
    // failed is loaded again by the next call.
    let layout = configured(preloading).or_raise();
    if FIXED.get().is_some() {
        return;
    }
    let fixed_at_start = WIDTHS.map(|width| width.name).into_iter();
    let texts = [
        EPOCH.name,
        DATACENTER_ID.name,
        WORKER_ID.name,
        IDENTITY_REQUIRES.name,
        WORKER_ID_FROM.name,
        START_AFTER.name,
        PUBLIC_KEY_FILE.name,
    ];
    let fixed_at_start = fixed_at_start.chain(texts);
    let reloaded: Vec<_> =
        fixed_at_start.filter_map(|name| Some((name, placeholder::reloaded(name)?))).collect();
    for setting in WIDTHS.into_iter().chain(LIMITS) {
        setting.define(&layout, preloading);
    }
    let at_start = || When::Start.context(preloading);
    EPOCH.define(at_start());
    DATACENTER_ID.define(at_start());
    WORKER_ID.define(at_start());
    IDENTITY_REQUIRES.define(at_start());
    WORKER_ID_FROM.define(at_start());
    START_AFTER.define(at_start());
    PUBLIC_KEY_FILE.define(at_start());
    ADOPTED_SCHEMAS.define(GucContext::Userset);
    for (name, value) in reloaded {
        placeholder::give(name, &value);
    }
    // SAFETY: the name is a string of the library; called while it is loaded.
    unsafe { pg_sys::MarkGUCPrefixReserved(c"snowflake".as_ptr()) };

    // Read the values again, now that the settings are defined: without preloading, PostgreSQL has
    // just dropped what an ordinary user had set before the library was loaded.
    let fixed = FIXED.get_or_init(|| {
        let layout = EPOCH.defined().and_then(|epoch| checked_layout(epoch, Int::get)).or_raise();
        // Only the process that starts the server has its environment for certain.
        let named = WORKER_ID_FROM.defined().or_raise().filter(|_| preloading).map(Named::look);
        let conditions = IDENTITY_REQUIRES.defined().or_raise();
        let (identity, refusal) = match defined_identity(layout, named.as_ref()).or_raise() {
            Ok(configured) => {
                let of_others = configured.filter(|_| preloading);
                let unmet = of_others.and_then(|_| condition::unmet(&conditions));
                (configured.filter(|_| unmet.is_none()), unmet.map(error::elsewhere))
            }
            Err(refusal) => (None, Some(refusal)),
        };
        let Identity { datacenter_id, worker_id } = identity.unwrap_or_default();
        Fixed {
            layout,
            identity,
            is_conditional: !conditions.is_empty(),
            named,
            refusal,
            preloaded: preloading,
            last_sequence: layout.last_sequence(),
            ids: layout.ids(datacenter_id, worker_id).expect("within the checked ranges"),
            start_after: START_AFTER.defined().or_raise(),
        }
    });
    debug_assert!(!preloading || fixed.layout == layout);
}

/// The layout that is configured. The values of all settings are valid.
fn configured(preloading: bool) -> Result<Layout, ErrorReport> {
    for width in WIDTHS {
        width.configured(None)?;
    }
    let epoch = EPOCH.configured()?.unwrap_or(TWITTER_EPOCH);
    let layout = checked_layout(epoch, |width| width.configured(None).unwrap_or_default())?;
    check_configured_identity(layout)?;
    let numbered = WORKER_ID_FROM.configured()?.flatten();
    if preloading && let Some(numbered) = numbered {
        check_one_worker(&Named::look(numbered))?;
    }
    check_configured_start(&layout)?;
    IDENTITY_REQUIRES.configured()?;
    ADOPTED_SCHEMAS.configured()?;
    for setting in LIMITS {
        setting.configured(Some(&layout))?;
    }
    Ok(layout)
}

fn checked_layout(epoch: Timestamp, bits: impl Fn(&Int) -> i32) -> Result<Layout, ErrorReport> {
    let [datacenter, worker, sequence] = WIDTHS.map(|width| bits(width) as u32);
    Layout::new(epoch, Widths { datacenter, worker, sequence }).map_err(error::wrong_layout)
}

/// The identity that the settings say; `None` unless both numbers are set. A part of width 0 has
/// one value only and need not be set. The inner error is why the name of the server gives no
/// number.
fn defined_identity(
    layout: Layout,
    named: Option<&Named>,
) -> Result<Result<Option<Identity>, ErrorReport>, ErrorReport> {
    let or_only = |id: Option<u32>, last| id.or((last == 0).then_some(0));
    let datacenter_id = or_only(DATACENTER_ID.defined()?, layout.last_datacenter_id());
    let mut worker_id = or_only(WORKER_ID.defined()?, layout.last_worker_id());
    if let Some(named) = named {
        worker_id = named.worker_id(&layout);
        if worker_id.is_none() {
            return Ok(Err(named.refusal(&layout, datacenter_id)));
        }
    }
    Ok(Ok(datacenter_id
        .zip(worker_id)
        .map(|(datacenter_id, worker_id)| Identity { datacenter_id, worker_id })))
}

/// Checks that the name of the server gives the worker ID that is set, if both are there.
fn check_one_worker(named: &Named) -> Result<(), ErrorReport> {
    match WORKER_ID.configured()?.flatten() {
        Some(worker_id) if named.contradicts(worker_id) => {
            let value = placeholder::configured(WORKER_ID_FROM.name).unwrap_or_default();
            let rule = format!(
                "{} But snowflake.worker_id is {worker_id}: remove it, or let both say the same.",
                named.describe()
            );
            Err(wrong_value(WORKER_ID_FROM.name, &value, rule))
        }
        _ => Ok(()),
    }
}

/// Checks what the configuration says, before the layout is fixed.
fn check_configured_start(layout: &Layout) -> Result<(), ErrorReport> {
    if let Some(text) = placeholder::configured(START_AFTER.name)
        && let Some(start_after) = START_AFTER.configured()?
    {
        valid::check_start_after(start_after, layout)
            .map_err(|rule| wrong_value(START_AFTER.name, &text, rule))?;
    }
    Ok(())
}

/// Checks what the configuration says, before the settings are defined and the layout is fixed.
fn check_configured_identity(layout: Layout) -> Result<(), ErrorReport> {
    for (setting, last) in
        [(&DATACENTER_ID, layout.last_datacenter_id()), (&WORKER_ID, layout.last_worker_id())]
    {
        if let Some(Some(id)) = setting.configured()?
            && id > last
        {
            let value = CString::new(id.to_string()).unwrap_or_default();
            return Err(wrong_value(setting.name, &value, valid::id_rule(last)));
        }
    }
    Ok(())
}
