//! Standbys, their clocks, and what keeps them from getting WAL.

use snowflake_e2e::Cluster;

use crate::sets::STANDBYS;

/// A standby, and whether its server runs.
pub struct Standby {
    pub cluster: Cluster,
    pub is_up: bool,
}

/// A standby of that number, with a clock of its own, around `base`.
pub fn standby_of(primary: &Cluster, number: usize, base: i64) -> Standby {
    let mut cluster = primary.base_backup(&["--write-recovery-conf"]);
    cluster.configure(&[("cluster_name", STANDBYS[number])]);
    cluster.set_clock(&any_clock(base));
    cluster.start_again();
    Standby { cluster, is_up: true }
}

/// An offset around `base` seconds, which is a large one now and then.
pub fn any_clock(base: i64) -> String {
    let seconds = if fastrand::u32(0..5) == 0 { -600..=0 } else { -30..=30 };
    format!("{:+}s", base + fastrand::i64(seconds))
}
