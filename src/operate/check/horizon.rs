//! Which transactions hold back the horizon.

use snowflake_core::horizon::NO_ID;
use snowflake_core::time::{Span, Timestamp};

use super::facts::Facts;
use super::finding::Finding;
use crate::horizon::holders::{self, Prepared};
use crate::horizon::prepared_before_the_start;

/// A transaction that has had an ID for longer than this is notable.
const NOTABLE: Span = Span::MINUTE;

/// Checks that `snowflake_horizon()` advances.
pub fn horizon(facts: &Facts) -> Finding {
    if !facts.fixed.preloaded || facts.in_recovery {
        return Finding::well("Not checked: only a primary that issues IDs has one.");
    }
    let unknown = prepared_before_the_start();
    if let Some(Prepared { place, end, .. }) = unknown.first() {
        return Finding::doubtful(
            format!(
                "It is not known: {place} was prepared before the server started, or while it was \
                 a standby. Such transactions: {}.",
                unknown.len()
            ),
            &format!("Commit it, or roll it back, in its database: {end}."),
        );
    }
    let prepared = holders::prepared();
    let mut hidden = 0;
    let mut oldest: Option<(Timestamp, String)> = None;
    for held in holders::held() {
        let name = match (held.pid, held.xid) {
            (Some(pid), _) => format!("the transaction of process {pid}"),
            (None, xid) => match prepared.iter().find(|other| Some(other.xid) == xid) {
                Some(Prepared { name, .. }) => format!("the prepared transaction \"{name}\""),
                None => continue,
            },
        };
        match held.details {
            None => hidden += 1,
            Some((NO_ID, _)) => {}
            Some((_, since)) if oldest.as_ref().is_some_and(|(least, _)| *least <= since) => {}
            Some((_, since)) => oldest = Some((since, name)),
        }
    }
    if let Some((since, name)) = oldest
        && facts.now - since > NOTABLE
    {
        return Finding::doubtful(
            format!("For {} seconds, {name} has held it back.", (facts.now - since).0 / 1000),
            "End the transaction. The view snowflake_horizon_holders shows all that hold it back.",
        );
    }
    if hidden > 0 {
        let detail = format!("Not checked for {hidden} transactions of other roles.");
        return Finding::well(detail);
    }
    Finding::well("No transaction has held it back for longer than a minute.")
}
