//! The description of a cluster that is to be created.

use std::path::Path;

use crate::cluster::Cluster;
use crate::programs::{Programs, as_server_user};

/// Beginnings of a new cluster.
impl Cluster {
    /// A cluster that preloads the extension, as datacenter 5 and worker 9.
    pub fn builder() -> ClusterBuilder {
        let builder = ClusterBuilder {
            programs: Programs::from_env(),
            settings: Vec::new(),
            fake_clock: false,
            environment: Vec::new(),
            host_name: None,
            public_keys: None,
        };
        builder
            .set("shared_preload_libraries", "snowflake_pg")
            .set("snowflake.datacenter_id", "5")
            .set("snowflake.worker_id", "9")
    }

    /// The same, started, with the extension created in database `postgres`.
    pub fn start() -> Cluster {
        Cluster::builder().start()
    }
}

/// A cluster that [`ClusterBuilder::start`] starts.
pub struct ClusterBuilder {
    programs: Programs,
    settings: Vec<(String, String)>,
    fake_clock: bool,
    environment: Vec<String>,
    host_name: Option<String>,
    public_keys: Option<String>,
}

impl ClusterBuilder {
    /// A line of postgresql.conf; an earlier one of the same name is dropped.
    pub fn set(mut self, name: &str, value: &str) -> ClusterBuilder {
        self = self.unset(name);
        self.settings.push((name.into(), value.into()));
        self
    }

    /// Drops a line of postgresql.conf.
    pub fn unset(mut self, name: &str) -> ClusterBuilder {
        self.settings.retain(|(other, _)| other != name);
        self
    }

    /// Drops the identity.
    pub fn without_identity(self) -> ClusterBuilder {
        self.unset("snowflake.datacenter_id").unset("snowflake.worker_id")
    }

    /// Another server than that of the environment.
    pub fn programs(mut self, programs: Programs) -> ClusterBuilder {
        self.programs = programs;
        self
    }

    /// Widths of 3, 3 and 16 bits, as worker 7. The limit of the default layout, 244 ns per ID,
    /// would hide what one costs.
    pub fn wide_sequence(self) -> ClusterBuilder {
        self.set("snowflake.datacenter_bits", "3")
            .set("snowflake.worker_bits", "3")
            .set("snowflake.sequence_bits", "16")
            .set("snowflake.worker_id", "7")
    }

    /// An environment variable of the server, as `NAME=value`.
    pub fn environment(mut self, variable: String) -> ClusterBuilder {
        self.environment.push(variable);
        self
    }

    /// The name of the machine, as the server sees it.
    pub fn host_name(mut self, name: &str) -> ClusterBuilder {
        self.host_name = Some(name.into());
        self
    }

    /// Lets [`Cluster::set_clock`] move the server's clock.
    pub fn fake_clock(mut self) -> ClusterBuilder {
        self.fake_clock = true;
        self
    }

    /// Gives the server keys of public IDs, one a line.
    pub fn public_keys(mut self, keys: &str) -> ClusterBuilder {
        self.public_keys = Some(keys.into());
        self
    }

    /// Starts the cluster and creates the extension in database `postgres`.
    pub fn start(self) -> Cluster {
        match self.try_start() {
            Ok(cluster) => cluster,
            Err(log) => panic!("the server does not start\n{log}"),
        }
    }

    /// The same; the server's log when it does not start.
    pub fn try_start(self) -> Result<Cluster, String> {
        let mut cluster = self.create();
        if cluster.try_start().is_err() {
            return Err(cluster.log());
        }
        cluster.run("CREATE EXTENSION snowflake");
        Ok(cluster)
    }

    /// The cluster, started, and without the extension in any database.
    pub fn start_bare(self) -> Cluster {
        let mut cluster = self.create();
        cluster.start_again();
        cluster
    }

    /// The same, after pg_upgrade from a cluster that was stopped.
    pub fn start_upgraded_from(self, old: &Cluster) -> Cluster {
        let mut cluster = self.create();
        cluster.upgrade_from(old);
        cluster.start_again();
        cluster
    }

    /// The cluster, not started, and without the extension in any database.
    pub fn create(self) -> Cluster {
        let mut cluster = Cluster::without_data(self.programs, self.fake_clock, self.environment);
        if let Some(name) = self.host_name {
            cluster.set_host_name(&name);
        }
        let template = cluster.programs().template();
        let copied = as_server_user(Path::new("cp"))
            .args(["-a", "--reflink=auto"])
            .args([template, &cluster.data()])
            .status();
        assert!(copied.expect("cp runs").success(), "cannot copy {}", template.display());
        cluster.configure(&[
            ("unix_socket_directories", &cluster.directory().to_string_lossy()),
            // Whoever connects is let in as superuser.
            ("unix_socket_permissions", "0700"),
            ("listen_addresses", ""),
            ("timezone", "UTC"),
            ("fsync", "on"),
            // In files of the cluster, so that what a killed server leaves goes with them.
            ("dynamic_shared_memory_type", "mmap"),
            ("jit", "off"),
            ("log_line_prefix", "%m [%p] "),
        ]);
        let settings: Vec<_> =
            self.settings.iter().map(|(name, value)| (&**name, &**value)).collect();
        cluster.configure(&settings);
        if let Some(keys) = self.public_keys {
            cluster.write_public_keys(keys);
            let file = cluster.public_key_file();
            cluster.configure(&[("snowflake.public_key_file", &file.to_string_lossy())]);
        }
        cluster
    }
}
