//! Checks of the configuration of this server, and of its next ID.

use crate::pg::library_function::LibraryFunction;
use crate::pg::report::{Report, sentences};
use crate::pg::{spi, time, transaction};
use pgrx::pg_sys;
use snowflake_core::generator::{Decision, RESERVATION};
use snowflake_core::promise::Refusal;
use snowflake_core::time::Span;

use super::facts::{Facts, NoPreview};
use super::finding::{Finding, State};
use super::rights::is_true;
use crate::fleet::database_layout::{self, Recorded};
use crate::generate;
use crate::generator::shared;
use crate::operate::status::LITTLE_TIME;
use crate::promise::Error::Refused;
use crate::promise::preview::Preview;
use crate::promise::reservation;
use crate::public;
use crate::settings::{self, Identity};

/// The hint for a background worker that does not run.
pub const OF_A_WORKER: &str = "It starts again after 5 seconds, unless max_worker_processes was \
                           too small when the server started. Then raise it, and restart the \
                           server.";

/// A lead of more than this is not one that a start leaves, unless the settings allow it.
const NOTABLE_LEAD: Span = Span::MINUTE;

/// The tables of this database that have a default that takes snowflake IDs.
const TABLES_WITH_KEYS: &str = "SELECT DISTINCT a.adrelid, a.adrelid::regclass::text
    FROM pg_depend AS d JOIN pg_attrdef AS a ON a.oid = d.objid
    WHERE d.refclassid = 'pg_proc'::regclass AND d.refobjid = $1
      AND d.classid = 'pg_attrdef'::regclass
    ORDER BY 2";

/// Checks that the library is preloaded.
pub fn preloading(_: &Facts) -> Finding {
    match settings::require_preloading() {
        Ok(_) => Finding::well("The library is in shared_preload_libraries."),
        Err(error) => Finding::blocking(error),
    }
}

/// Checks that there is an identity.
pub fn identity(facts: &Facts) -> Finding {
    match facts.fixed.identity {
        Some(Identity { datacenter_id, worker_id }) => {
            let own = format!("Datacenter {datacenter_id}, worker {worker_id}");
            Finding::well(match facts.preview {
                Ok(Preview { shares_identity: true, .. }) => format!(
                    "{own}, the same as that of the server that it follows: fence that one before \
                     a promotion."
                ),
                _ => format!("{own}."),
            })
        }
        None => Finding::blocking(facts.fixed.no_identity()),
    }
}

/// Checks that the register can be used, and shows its floor.
pub fn register(facts: &Facts) -> Finding {
    use Refusal::{OtherSystem, Register};
    match &facts.preview {
        Err(NoPreview::Refused(Refused(refusal @ (Register(_) | OtherSystem { .. })))) => {
            return Finding::blocking(Refused(*refusal).report());
        }
        Err(NoPreview::Raised(message)) => {
            return Finding {
                state: State::Blocking,
                detail: sentences(message, None),
                hint: Some(
                    "Correct what the detail says. Then the next ID reads the register.".into(),
                ),
            };
        }
        Err(NoPreview::Refused(_)) => return Finding::well("It can be read."),
        Ok(_) => {}
    }
    // A server that has issued IDs continues without the file for as long as it runs, because
    // the floor is in its memory.
    match reservation::record() {
        Ok(Some(record)) => Finding::well(format!("The floor is {}.", time::display(record.floor))),
        Ok(None) => without_register(facts),
        Err(error) => Finding { state: State::Doubtful, ..Finding::blocking(error.report()) },
    }
}

/// The first ID starts from the clock, unless `snowflake.start_after` is set.
fn without_register(facts: &Facts) -> Finding {
    let first = "There is none. The first ID creates it";
    if let Some(start_after) = facts.fixed.start_after {
        return Finding::well(format!("{first}, and is after {}.", time::display(start_after)));
    }
    let mut locked = None;
    for row in spi::query(TABLES_WITH_KEYS, &[LibraryFunction::argument("snowflake_nextval")]) {
        let (table, name): (pg_sys::Oid, String) = row;
        let has_pages = || is_true(&format!("pg_relation_size({}) > 0", table.to_u32()));
        match transaction::locked_at_once(table, has_pages) {
            Some(true) => {
                return Finding::doubtful(
                    format!(
                        "{first}. But the table {name}, whose default is a snowflake ID, is not \
                         empty."
                    ),
                    "If its keys were issued before this server was upgraded, or restored from a \
                     dump, a superuser sets a floor above them: SELECT snowflake_set_floor('...').",
                );
            }
            Some(false) => {}
            None => locked = locked.or(Some(name)),
        }
    }
    match locked {
        None => Finding::well(format!("{first}.")),
        Some(table) => Finding::doubtful(
            format!(
                "{first}. The table {table}, whose default is a snowflake ID, was not looked at, \
                 because another session locks it."
            ),
            "Check again when the other session has ended its transaction.",
        ),
    }
}

/// Checks that the register accepts the layout.
pub fn layout(facts: &Facts) -> Finding {
    use Refusal::{ConfirmedLayout, OtherLayout};
    match &facts.preview {
        Err(NoPreview::Refused(Refused(
            refusal @ (OtherLayout { .. } | ConfirmedLayout { .. }),
        ))) => Finding::blocking(Refused(*refusal).report()),
        Ok(Preview { was_confirmed: true, accepts_former: true, .. }) => Finding::well(
            "The epoch and the widths were confirmed. No ID has been issued under them, so those \
             from before are still accepted.",
        ),
        Ok(Preview { was_confirmed: true, .. }) => Finding::well(
            "The epoch and the widths were confirmed. This server has received no ID that was \
             issued under them.",
        ),
        Ok(Preview { is_first: false, .. }) => {
            Finding::well("The epoch and the widths are those of the register.")
        }
        Ok(_) => Finding::well("The first ID fixes the epoch and the widths."),
        Err(_) => Finding::unknown(),
    }
}

/// Checks that dumps of this database carry the layout.
pub fn layout_of_database(facts: &Facts) -> Finding {
    let hint = "If the server has a wrong epoch or wrong widths, correct them and restart it. \
                Otherwise, a superuser confirms them with SELECT snowflake_confirm('layout') \
                in this database.";
    let recorded = match database_layout::recorded(facts.function, facts.fixed.layout) {
        Ok(recorded) => recorded,
        Err(replaced) => {
            return Finding { state: State::Doubtful, ..Finding::blocking(replaced) };
        }
    };
    match recorded {
        Recorded::Own => Finding::well("Dumps of this database carry the epoch and the widths."),
        Recorded::Others(layouts) => Finding::doubtful(
            format!(
                "This database has been used with another layout than the server's: {layouts}."
            ),
            hint,
        ),
        Recorded::Nothing => Finding::doubtful(
            "The table snowflake_internal.snowflake_layout is empty. Dumps of this database carry \
             no layout.",
            hint,
        ),
        Recorded::Unknown => Finding::well(
            "Not checked: this role cannot read the table snowflake_internal.snowflake_layout.",
        ),
    }
}

/// Checks the lead of the next ID over the clock.
pub fn lead(facts: &Facts) -> Finding {
    let preview = match &facts.preview {
        Ok(preview) => preview,
        Err(NoPreview::Refused(Refused(refusal @ Refusal::StartAfterAhead { .. }))) => {
            return Finding::blocking(Refused(*refusal).report());
        }
        Err(_) => return Finding::unknown(),
    };
    let limits = settings::limits();
    let lead = preview.after - facts.now;
    if let Some(largest) = limits.largest_lead(preview.hold)
        && lead > largest
        && !(lead - largest).is_within(limits.max_wait)
    {
        let until = preview.after - largest;
        let refusal = Decision::Refuse { timestamp: preview.after, lead, until };
        return Finding::blocking(generate::Error::Refused(refusal).report());
    }
    if lead <= Span::ZERO {
        return Finding::well("IDs carry the time of the clock.");
    }
    let after = time::display(preview.after);
    let detail =
        format!("The next ID is after {after}, {} ahead of the clock.", time::interval(lead));
    let margin = settings::FAILOVER_MARGIN.span() + settings::MAX_OBSERVED_LEAD.span();
    if lead <= NOTABLE_LEAD.max(margin + RESERVATION) || lead.is_within(limits.max_burst) {
        return Finding::well(detail);
    }
    Finding::doubtful(
        detail,
        "The clock was set back, the floor was set ahead of it, an ID of another server was \
         observed, or several promotions added a margin each. If the clock is behind, set it \
         right. Otherwise, the lead shrinks as the clock goes on.",
    )
}

/// Checks the lead to which IDs of other servers have taken this one.
pub fn observation(facts: &Facts) -> Finding {
    let limit = match settings::MAX_OBSERVED_LEAD.span() {
        Span::ZERO => "up to the clock".to_owned(),
        limit => format!("up to {} ahead of the clock", time::interval(limit)),
    };
    let mut detail = format!("Observed IDs of other servers are followed {limit}.");
    if !facts.fixed.preloaded {
        return Finding::well(detail);
    }
    let (_, statistics) = shared::statistics();
    if let Some(observed) = shared::generator().observed() {
        detail += &format!(
            " The highest is {} ahead now, and one was {} ahead when it was observed.",
            time::interval((observed - facts.now).max(Span::ZERO)),
            time::interval(statistics.max_observed_lead)
        );
    }
    match statistics.observations_refused {
        0 => Finding::well(detail),
        refused => Finding::doubtful(
            format!("{detail} Not followed since the counters were reset: {refused}."),
            "The server's log names the last of them. Compare the clocks of the servers. If all \
             are right, raise snowflake.max_observed_lead. Then reset the counters with SELECT \
             snowflake_stat_reset().",
        ),
    }
}

/// Checks the time for which the timestamp field lasts.
pub fn timestamp_field(facts: &Facts) -> Finding {
    let last = facts.fixed.layout.last_timestamp();
    // Of the last millisecond that was used, only a rest of the sequence might be left, so the
    // next one counts.
    let next =
        facts.preview.as_ref().map_or(facts.now, |preview| facts.now.max(preview.after + Span(1)));
    let (left, end) = (last - next, time::display(last));
    if left < Span::ZERO {
        Finding::blocking(generate::Error::Refused(Decision::EndOfField).report())
    } else if left < LITTLE_TIME {
        Finding::doubtful(
            format!("It ends at {end}, in {} days.", left.0 / Span::DAY.0),
            "Plan for new IDs, with a later snowflake.epoch or smaller widths.",
        )
    } else {
        Finding::well(format!("It ends at {end}."))
    }
}

/// The hint for a file of keys that cannot be used.
const OF_THE_FILE: &str = "The server's log says why. Mend the file, and reload the configuration.";

/// Checks the keys of public IDs, and shows their origin.
pub fn public_ids(facts: &Facts) -> Finding {
    if !facts.fixed.preloaded {
        return Finding::well("There are no keys, because the library is not preloaded.");
    }
    let public::State { count, fingerprint, is_refused, has_worker } = public::state();
    let detail = match fingerprint {
        None => "There are no keys.".to_owned(),
        Some(first) => {
            let there = if count == 1 { "is 1 key" } else { &format!("are {count} keys") };
            format!("There {there}. The fingerprint of the first is {first}.")
        }
    };
    if is_refused && count == 0 {
        Finding::doubtful("There are no keys: their file cannot be used.", OF_THE_FILE)
    } else if is_refused {
        Finding::doubtful(
            format!("{detail} They are from before: the file cannot be used."),
            OF_THE_FILE,
        )
    } else if public::configured().is_some() && !has_worker {
        Finding::doubtful(
            format!("{detail} The background worker that reads their file again does not run."),
            OF_A_WORKER,
        )
    } else if public::is_in_data_directory() {
        Finding::doubtful(
            format!("{detail} Their file is in the data directory, which backups copy."),
            "Move the file, set snowflake.public_key_file, and restart the server.",
        )
    } else {
        Finding::well(detail)
    }
}
