//! The rule that keeps a conversion from running code with rights that its writer lacks: all of it
//! runs as the one owner of what it changes, and what that calls or reads belongs to this owner or
//! to a superuser. `trust.sql` has the rule.

use std::collections::BTreeMap;

use pgrx::prelude::*;
use snowflake_server::settings::Path;
use snowflake_server::spi::{Argument, Row, query, texts};

use super::obstacle::Obstacle;
use super::rows::{fields, oid, sqlstate_of};

/// The rule: parts of a WITH clause, before which a query has to say what the rule is asked of.
pub const RULE: &str = include_str!("trust.sql");

/// Whose rights a conversion has, and where names are looked up then.
pub struct Owner {
    pub role: pg_sys::Oid,
    pub path: Path,
}

impl Owner {
    /// The owner whose rights the caller has: 42501 unless the caller could become this role. Of the
    /// session's `search_path`, the schemas are left in which only this role and superusers create
    /// objects.
    pub fn of_caller(role: pg_sys::Oid) -> Result<Owner, Obstacle> {
        const MAY_BECOME: &str = "
            SELECT pg_has_role(oid, CASE
                       WHEN current_setting('server_version_num')::integer < 160000 THEN 'MEMBER'
                       ELSE 'SET'
                   END),
                   rolname
            FROM pg_roles WHERE oid = $1";
        let argument = (Some(role.into()), pg_sys::OIDOID);
        let Some(row) = query(MAY_BECOME, &[argument]).pop() else {
            return Err(Obstacle::no_role(role));
        };
        let [may_become, name] = fields(row);
        if may_become.as_deref() != Some("t") {
            let name = name.unwrap_or_default();
            return Err(Obstacle {
                hint: Some(format!(
                    "Execute this as \"{name}\", or as a role that can become it by SET ROLE."
                )),
                ..Obstacle::denied(format!("permission denied to execute as role \"{name}\""))
            });
        }
        let path = format!(
            "WITH RECURSIVE the_owner(role) AS (SELECT $1), {NOTHING} {RULE}
             SELECT nspname FROM unnest($2::oid[]) WITH ORDINALITY AS of_session (oid, place)
             JOIN pg_namespace USING (oid) JOIN schemas ON schema = oid
             WHERE is_trusted AND creators IS NULL AND nspname !~ '^pg_' ORDER BY place"
        );
        let rows = query(&path, &[argument, schemas_of_session()]);
        let schemas: Vec<String> = rows.into_iter().flatten().flatten().collect();
        Ok(Owner { role, path: Path::through(&schemas) })
    }
}

/// For a query that only asks whom the rule trusts.
const NOTHING: &str = "
    bound(class, object, owner, schema) AS (SELECT 0::oid, 0::oid, 0::oid, 0::oid WHERE false),
    executed(class, object) AS (SELECT 0::oid, 0::oid WHERE false)";

/// The schemas of the session's `search_path`, as an argument of a query: an array, as text.
pub fn schemas_of_session() -> Argument {
    oids(Path::schemas_of_session())
}

/// OIDs as an argument of a query: an array, as text.
pub fn oids(oids: impl IntoIterator<Item = pg_sys::Oid>) -> Argument {
    let oids: Vec<String> = oids.into_iter().map(|oid| oid.to_u32().to_string()).collect();
    texts(&oids)
}

/// Relations, and their names when a conversion was planned, which its statements use.
#[derive(Default)]
pub struct Names(BTreeMap<u32, String>);

impl Names {
    pub fn add(&mut self, relation: pg_sys::Oid, name: String) {
        self.0.insert(relation.to_u32(), name);
    }

    /// The relations, each with its name.
    pub fn iter(&self) -> impl Iterator<Item = (pg_sys::Oid, &str)> {
        self.0.iter().map(|(relation, name)| (pg_sys::Oid::from(*relation), name.as_str()))
    }

    /// Fails if a relation has another name by now, and so its name might be that of something
    /// else. A statement might have run code of the owner since.
    pub fn check(&self) -> Result<(), Obstacle> {
        let relations: Vec<pg_sys::Oid> = self.iter().map(|(relation, _)| relation).collect();
        let now = Names::of(&relations);
        let changed = self.0.iter().find(|(relation, name)| now.0.get(relation) != Some(name));
        changed.map_or(Ok(()), |(_, name)| Err(Obstacle::changed(name)))
    }

    /// The names that relations have now.
    pub fn of(relations: &[pg_sys::Oid]) -> Names {
        const NAMES: &str = "
            SELECT c.oid, format('%I.%I', n.nspname, c.relname)
            FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
            WHERE c.oid = ANY ($1::oid[])";
        let mut names = Names::default();
        for row in query(NAMES, &[oids(relations.iter().copied())]) {
            let [relation, name] = fields(row);
            names.add(oid(relation.expect("an OID")), name.expect("a name"));
        }
        names
    }
}

/// Fails if what was created again calls or reads what the rule does not allow: a name in its
/// definition might be that of something else by now, or of another function, since types have
/// changed. `addresses` are expressions that give the new objects.
pub fn check_created(owner: &Owner, addresses: &[String]) -> Result<(), Obstacle> {
    if addresses.is_empty() {
        return Ok(());
    }
    let found: Vec<String> =
        addresses.iter().map(|address| format!("SELECT classid, objid FROM {address}")).collect();
    check_executed(owner, &found.join(" UNION ALL "), &[])
}

/// Fails if triggers or rules of these relations call or read what the rule does not allow: a
/// statement of the owner on one of them runs that as the owner.
pub fn check_fired(owner: &Owner, names: &Names) -> Result<(), Obstacle> {
    const FIRED: &str = "
        SELECT 'pg_trigger'::regclass::oid, oid
        FROM pg_trigger
        WHERE tgrelid = ANY ($2::oid[]) AND NOT tgisinternal
        UNION ALL
        SELECT 'pg_rewrite'::regclass, oid FROM pg_rewrite WHERE ev_class = ANY ($2::oid[])";
    check_executed(owner, FIRED, &[oids(names.iter().map(|(relation, _)| relation))])
}

/// Asks the rule of what a query returns.
fn check_executed(owner: &Owner, executed: &str, more: &[Argument]) -> Result<(), Obstacle> {
    let obstacles = format!(
        "WITH RECURSIVE the_owner(role) AS (SELECT $1),
         executed(class, object) AS ({executed}),
         bound(class, object, owner, schema) AS (
             SELECT 0::oid, 0::oid, 0::oid, 0::oid WHERE false)
         {RULE}
         SELECT sqlstate, object, message, detail, hint FROM trust_obstacles ORDER BY rank, message"
    );
    let owner = (Some(owner.role.into()), pg_sys::OIDOID);
    match query(&obstacles, &[&[owner], more].concat()).into_iter().next() {
        None => Ok(()),
        Some(row) => Err(obstacle(row)),
    }
}

/// Fails if a table of the owner has a default that calls another `snowflake_nextval()` than that
/// of the extension `snowflake`. The schema of this extension might have another owner, who might
/// have put another schema in its place, and then a statement names what is in that.
pub fn check_defaults(nextval: pg_sys::Oid, owner: &Owner) -> Result<(), Obstacle> {
    const OTHERS: &str = "
        SELECT FROM pg_attrdef AS d
        JOIN pg_class AS c ON c.oid = d.adrelid AND c.relowner = $2
        JOIN pg_depend AS p ON p.classid = 'pg_attrdef'::regclass AND p.objid = d.oid
             AND p.refclassid = 'pg_proc'::regclass
        JOIN pg_proc AS f ON f.oid = p.refobjid AND f.proname = 'snowflake_nextval'
        WHERE f.oid <> $1";
    let [nextval, owner] = [nextval, owner.role].map(|oid| (Some(oid.into()), pg_sys::OIDOID));
    match query(OTHERS, &[nextval, owner]).is_empty() {
        true => Ok(()),
        false => Err(Obstacle::changed("the schema of the extension")),
    }
}

/// SQLSTATE, object, message, detail and hint.
pub fn obstacle(row: Row) -> Obstacle {
    let [sqlstate, object, message, detail, hint] = fields(row);
    Obstacle {
        sqlstate: sqlstate_of(&sqlstate.expect("a SQLSTATE")),
        object: object.expect("an object"),
        message: message.expect("a message"),
        detail,
        hint,
    }
}
