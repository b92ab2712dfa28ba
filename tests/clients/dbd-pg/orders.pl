use strict;
use warnings;

use DBI;

# The connection is that of the environment: PGHOST and others, or what is set here.
my $database = DBI->connect('dbi:Pg:', undef, undef, { RaiseError => 1, AutoCommit => 1 });
my $insert = 'INSERT INTO orders (item) VALUES (?) RETURNING id';
for my $item (qw(tea milk sugar)) {
    my ($id) = $database->selectrow_array($insert, undef, $item);
    print "$item $id\n";
}
$database->disconnect;
