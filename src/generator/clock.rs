//! The wall clock: reading it, and waiting for it; and the boot clock.
//!
//! Nothing here may be called under the spinlock.

use std::fs;
use std::hint::spin_loop;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pgrx::{check_for_interrupts, pg_sys};
use snowflake_core::jump::{BootClock, Clocks};
use snowflake_core::time::{Span, Timestamp};

/// The wall clock.
///
/// Read with `gettimeofday()`, as PostgreSQL reads it, because the C library answers it fastest.
/// `clock_gettime()` takes a little more, and `SystemTime` still more.
#[inline(always)]
pub fn now() -> Timestamp {
    let mut time = MaybeUninit::<libc::timeval>::uninit();
    // SAFETY: the pointer is valid for the call, which fills in what it points to, and never fails.
    let time = unsafe {
        libc::gettimeofday(time.as_mut_ptr(), ptr::null_mut());
        time.assume_init()
    };
    // Microseconds count up from a whole second, before 1970 too.
    Timestamp(time.tv_sec * 1000 + i64::from(time.tv_usec as u32 / 1000))
}

/// The time since the machine was started. Nobody can set it, and it goes on while the machine
/// sleeps.
pub fn since_boot() -> Span {
    boot_time().into()
}

fn boot_time() -> Duration {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the pointer is valid for the call, which fills in what it points to: this clock is
    // never missing.
    let time = unsafe {
        libc::clock_gettime(libc::CLOCK_BOOTTIME, time.as_mut_ptr());
        time.assume_init()
    };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Both clocks.
pub fn clocks() -> Clocks {
    Clocks { wall: now(), boot: BootClock { boot: boot(), elapsed: since_boot() } }
}

/// Which boot of which machine this is. The server's processes inherit what was read when the
/// library was preloaded.
pub fn boot() -> u128 {
    static BOOT: OnceLock<u128> = OnceLock::new();
    *BOOT.get_or_init(|| {
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        // Where there is none, every start of the server counts as one of the machine.
        u128::from_str_radix(&id.trim().replace('-', ""), 16)
            .unwrap_or_else(|_| fastrand::u128(1..))
    })
}

/// Which machine this is; 0 where that is not known.
pub fn machine() -> u128 {
    static MACHINE: OnceLock<u128> = OnceLock::new();
    *MACHINE.get_or_init(|| {
        let id = fs::read_to_string("/etc/machine-id").unwrap_or_default();
        u128::from_str_radix(id.trim(), 16).unwrap_or_default()
    })
}

/// A wait stops sleeping and starts spinning this long before its end: a sleep might overshoot by
/// about as much.
const SPIN: Duration = Duration::from_micros(80);

/// Waits of at most this are too short for a latch, whose unit is the millisecond.
const SHORT: Duration = Duration::from_millis(3);

/// Waits for the clock to reach `until`, but for no more than `longest` by the boot clock, since
/// somebody might set the clock back.
///
/// The wait shows in `pg_stat_activity`, and ends with an error when the statement is canceled.
pub fn wait_towards(until: Timestamp, longest: Span) {
    let _shown = WaitEvent::start();
    let ends = boot_time() + Duration::from(longest);
    loop {
        check_for_interrupts!();
        let remaining = remaining(until).min(ends.saturating_sub(boot_time()));
        if remaining.is_zero() {
            return;
        } else if remaining > SHORT {
            wait_on_latch(remaining - Duration::from_millis(1));
        } else if remaining > SPIN {
            std::thread::sleep(remaining - SPIN);
        } else {
            spin_loop();
        }
    }
}

fn remaining(until: Timestamp) -> Duration {
    match UNIX_EPOCH.checked_add(Duration::from(until - Timestamp(0))) {
        Some(until) => until.duration_since(SystemTime::now()).unwrap_or(Duration::ZERO),
        None => Duration::MAX,
    }
}

fn wait_on_latch(duration: Duration) {
    let events = pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH;
    // SAFETY: every backend has a latch, and waits on it this way.
    unsafe {
        pg_sys::WaitLatch(
            pg_sys::MyLatch,
            events as i32,
            duration.as_millis() as i64,
            wait_event(),
        );
        pg_sys::ResetLatch(pg_sys::MyLatch);
    }
}

/// Shows the session as waiting, for as long as it lives.
struct WaitEvent;

impl WaitEvent {
    fn start() -> WaitEvent {
        // SAFETY: a session may always say what it waits for.
        unsafe { pg_sys::pgstat_report_wait_start(wait_event()) };
        WaitEvent
    }
}

impl Drop for WaitEvent {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { pg_sys::pgstat_report_wait_end() };
    }
}

/// The wait event of a session that waits for the clock: `Extension/SnowflakeClock` from PostgreSQL
/// 17 on. Older servers give extensions no names for theirs: `Extension/Extension`.
#[cfg(not(any(feature = "pg15", feature = "pg16")))]
fn wait_event() -> u32 {
    use std::sync::OnceLock;
    static EVENT: OnceLock<u32> = OnceLock::new();
    // SAFETY: called in a backend; the name lives as long as the library.
    *EVENT.get_or_init(|| unsafe { pg_sys::WaitEventExtensionNew(c"SnowflakeClock".as_ptr()) })
}

/// The wait event of a session that waits for the clock.
#[cfg(any(feature = "pg15", feature = "pg16"))]
fn wait_event() -> u32 {
    pg_sys::PG_WAIT_EXTENSION
}
