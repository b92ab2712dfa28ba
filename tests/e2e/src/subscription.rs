//! Subscriptions of one cluster to another.

use crate::cluster::Cluster;
use crate::query::{Run, bigint};
use crate::wait::eventually;

impl Cluster {
    /// The connection of a subscription to a database of this cluster, without the user.
    pub fn connection(&self, database: &str) -> String {
        format!("host={} port=5432 dbname={database}", self.directory().display())
    }

    /// Subscribes a database to the one of the same name of a publisher. The rest of the statement
    /// begins with `PUBLICATION`.
    pub fn subscribe(&self, publisher: &Cluster, database: &str, name: &str, rest: &str) {
        let connection = publisher.connection(database);
        let statement =
            format!("CREATE SUBSCRIPTION {name} CONNECTION '{connection} user=postgres' {rest}");
        self.connect_to(database).run(&statement);
    }

    /// Waits until every table of every subscription was copied, and follows its publisher.
    pub fn wait_for_the_copy(&self, database: &str) {
        let mut client = self.connect_to(database);
        let copying = "SELECT count(*) FROM pg_subscription_rel WHERE srsubstate <> 'r'";
        eventually("the tables were copied", || bigint(&mut client, copying) == 0);
    }
}
