//! Checks of what this server knows of other servers.

use crate::pg::library_function::LibraryFunction;
use crate::pg::spi;

use super::facts::Facts;
use super::finding::Finding;
use super::rights::{is_true, may_read};
use crate::generator::shared;
use crate::horizon::transaction_end;

/// The standbys that commits wait for, and whether there are enough of them.
pub fn synchronous_standbys(facts: &Facts) -> Finding {
    if facts.in_recovery {
        return Finding::well("Checked on the primary.");
    } else if !transaction_end::has_synchronous_standbys() {
        return Finding::well("There are none.");
    } else if !may_read("pg_stat_replication") {
        return Finding::well("Not checked: this role may not read pg_stat_replication.");
    }
    let standbys = spi::query::<(Option<String>, Option<String>)>(STANDBYS, &[]);
    if standbys.iter().any(|(_, state)| state.is_none()) {
        return Finding::well("Not checked: this role may not read all of pg_stat_replication.");
    }
    let waited_for: Vec<_> = standbys
        .into_iter()
        .filter(|(_, state)| matches!(state.as_deref(), Some("sync" | "quorum")))
        .filter_map(|(name, _)| name)
        .collect();
    let (connected, needed) = (waited_for.len(), transaction_end::standbys_needed());
    let waited_for = match connected {
        0 => "none is".to_owned(),
        _ => format!("these are: {}", waited_for.join(", ")),
    };
    if connected < needed {
        Finding::doubtful(
            format!(
                "Commits wait for {needed} of the standbys that synchronous_standby_names names. \
                 Of those that are connected and stream, {waited_for}. A transaction that took an \
                 ID or wrote a row waits when it commits."
            ),
            "Look at pg_stat_replication. Start the standbys, or correct \
             synchronous_standby_names.",
        )
    } else {
        Finding::well(format!(
            "Commits wait for {needed} of them. Of those that are connected and stream, \
             {waited_for}."
        ))
    }
}

/// A role that may not see a standby gets NULL in place of its columns.
const STANDBYS: &str = "SELECT r.application_name, r.sync_state FROM pg_stat_replication AS r
    ORDER BY r.application_name";

/// Checks that no IDs of another server with this identity came by replication or were observed.
pub fn twins(facts: &Facts) -> Finding {
    let subscribed = match may_read("pg_subscription_rel") {
        true => "EXISTS (SELECT FROM pg_subscription_rel WHERE srrelid = t.tgrelid)",
        false => "false",
    };
    let query = IDLE_WATCHES.replace("{subscribed}", subscribed);
    let (tables, owners): (Option<String>, Option<String>) =
        spi::query(&query, &[LibraryFunction::argument(WATCH)]).swap_remove(0);
    let received = if facts.fixed.preloaded { shared::statistics().1.twins } else { 0 };
    if received > 0 {
        Finding::doubtful(
            format!(
                "Replicated rows, or observed IDs, had the identity of this server. Their number \
                 since the counters were reset is {received}."
            ),
            "The log names the subscriptions, and says which other causes are possible. Give one \
             of the two servers another identity, and restart it. Then call \
             snowflake_stat_reset(), which resets all counters.",
        )
    } else if let Some(tables) = tables {
        Finding::doubtful(
            format!(
                "The trigger of snowflake_watch_twins() is not fired by replicated rows of: \
                 {tables}."
            ),
            "Enable the trigger with ALTER TABLE ... ENABLE REPLICA TRIGGER.",
        )
    } else {
        let none = "No replicated row with the identity of this server was noticed.";
        Finding::well(match owners {
            None => none.to_owned(),
            Some(owners) => format!(
                "{none} Idle triggers of these roles are not counted, because they lack the rights \
                 of the owner of the database, and no subscription brings rows to their tables: \
                 {owners}."
            ),
        })
    }
}

/// The symbol of `snowflake_watch_twins()`, which is `$1` of the queries.
const WATCH: &str = "snowflake_watch_twins_wrapper";

/// The tables of this database whose trigger `snowflake_watch_twins()` fires for local rows alone,
/// for which it does nothing. Disabled triggers are left out, because PostgreSQL disables none by
/// itself. Any role can create the trigger on a table of its own, so that of a role that may not
/// judge for the database counts only where a subscription brings rows. Of the others, the owners.
const IDLE_WATCHES: &str = "
    SELECT string_agg(DISTINCT format('%s (owner %s)', t.tgrelid::regclass, owner), ', ')
               FILTER (WHERE counts),
           string_agg(DISTINCT owner, ', ') FILTER (WHERE NOT counts)
    FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid,
        quote_ident(pg_get_userbyid(c.relowner)) AS owner,
        LATERAL (SELECT pg_has_role(c.relowner, 'pg_database_owner', 'USAGE') OR {subscribed}) AS o (counts)
    WHERE t.tgfoid = $1 AND t.tgenabled = 'O'";

/// Checks that the subscriptions that bring rows to watched tables are enabled. With
/// `disable_on_error`, PostgreSQL disables one by itself.
pub fn subscriptions(_: &Facts) -> Finding {
    if !may_read_subscriptions() {
        return Finding::well("Not checked: this role may not read pg_subscription.");
    }
    match spi::query(DISABLED, &[LibraryFunction::argument(WATCH)]).swap_remove(0) {
        None::<String> => Finding::well("No subscription to a watched table is disabled."),
        Some(disabled) => Finding::doubtful(
            format!("These subscriptions to watched tables are disabled: {disabled}."),
            "The log says why. Enable them with ALTER SUBSCRIPTION ... ENABLE, or drop them: until \
             then, their publishers keep WAL.",
        ),
    }
}

/// The disabled subscriptions of this database to tables with the trigger
/// `snowflake_watch_twins()`.
const DISABLED: &str = "SELECT string_agg(s.subname, ', ' ORDER BY s.subname)
    FROM pg_subscription AS s
    WHERE NOT s.subenabled
        AND s.subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND EXISTS (
            SELECT FROM pg_subscription_rel AS r JOIN pg_trigger AS t ON t.tgrelid = r.srrelid
            WHERE r.srsubid = s.oid AND t.tgfoid = $1)";

/// Returns whether this role may read what [`DISABLED`] does. Of `pg_subscription`, only superusers
/// may read every column.
fn may_read_subscriptions() -> bool {
    let column =
        |name| format!("has_column_privilege('pg_catalog.pg_subscription', '{name}', 'SELECT')");
    let columns = ["oid", "subdbid", "subname", "subenabled"].map(column);
    is_true(&columns.join(" AND ")) && may_read("pg_subscription_rel")
}
