//! Clients of Perl programs.

use snowflake_e2e::bigint;

use crate::program::{Program, error, stdout};

/// DBD::Pg: an ID is read with RETURNING. `last_insert_id()` looks for a sequence of the table, and
/// raises an error, because there is none.
#[test]
fn dbd_pg() {
    let program = Program::of("dbd-pg");
    assert_eq!(program.assert_orders(&stdout(program.run("perl", &["orders.pl"]))), 3);
    let said = error(program.run("perl", &["-e", LAST_INSERT_ID]));
    let expected = "No suitable column found for last_insert_id of table \"orders\"";
    assert!(said.contains(expected), "{said}");
    assert_eq!(bigint(&mut program.cluster.connect(), "SELECT count(*) FROM orders"), 4);
}

const LAST_INSERT_ID: &str = "
use DBI;
my $database = DBI->connect('dbi:Pg:', undef, undef, { RaiseError => 1, PrintError => 0 });
$database->do(\"INSERT INTO orders (item) VALUES ('cake')\");
print $database->last_insert_id(undef, undef, 'orders', undef);
";
