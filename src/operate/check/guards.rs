//! The check that the extension's tables are guarded.

use crate::pg::library_function::extension_of;
use crate::pg::spi;

use super::facts::Facts;
use super::finding::Finding;

/// The tables of the extension `$1` whose guard is not as the extension creates it:
/// BEFORE INSERT FOR EACH ROW, ENABLE ALWAYS, and with a function in C, which only superusers
/// create.
const UNGUARDED: &str = "
    SELECT string_agg(c.oid::regclass::text, ', ' ORDER BY c.relname)
    FROM pg_depend AS member
    JOIN pg_class AS c ON c.oid = member.objid AND c.relkind = 'r'
    JOIN pg_namespace AS n ON n.oid = c.relnamespace AND n.nspname = 'snowflake_internal'
    WHERE member.refclassid = 'pg_extension'::regclass AND member.refobjid = $1
      AND member.deptype = 'e' AND member.classid = 'pg_class'::regclass
      AND NOT EXISTS (
          SELECT FROM pg_trigger AS t
          JOIN pg_proc AS p ON p.oid = t.tgfoid AND p.proname ^@ 'snowflake_guard_'
          JOIN pg_language AS l ON l.oid = p.prolang AND l.lanname = 'c'
          WHERE t.tgrelid = c.oid AND (t.tgname, t.tgtype, t.tgenabled) = ('guard', 7, 'A'))";

/// Checks that the guards of the extension's tables are fired at each insert, as a replica, too.
pub fn guards(facts: &Facts) -> Finding {
    match spi::query(UNGUARDED, &[spi::oid(extension_of(facts.function))]).swap_remove(0) {
        None::<String> => Finding::well("The extension's tables have their guards."),
        Some(tables) => Finding::doubtful(
            format!(
                "The guard of these tables is missing, or is not fired at each insert, so that \
                 roles can insert rows which it refuses: {tables}."
            ),
            "If the extension was not updated with the library, execute ALTER EXTENSION snowflake \
             UPDATE. After a restore with --disable-triggers, a superuser executes ALTER TABLE ... \
             ENABLE ALWAYS TRIGGER guard for each of them.",
        ),
    }
}
