//! Fleets: several servers, and what operators run around them. One module per kind.

mod after_twins;
mod answers;
mod backups;
mod citus;
mod feed;
mod foreign_polls;
mod foreign_tables;
mod identities;
mod monitoring;
mod own_rows;
mod patroni;
mod pgbackrest;
mod poolers;
mod provisioning;
mod terms;
mod twins;
