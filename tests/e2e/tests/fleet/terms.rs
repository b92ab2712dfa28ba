//! Failovers between three members that keep their numbers, in any order, without a margin and
//! without Patroni: primaries are killed, or go on until they are rewound, standbys lag, clocks are
//! behind as far as `docs/operations.md` allows it, and every ID that a client received is
//! compared.

use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fastrand::Rng;
use snowflake_e2e::{Journal, Members, bigint, bigints, eventually, seed};

const MANY: &str = "SELECT snowflake_nextval(1000)";

const FAILOVERS: usize = 20;

/// The lag of a clock, in seconds, in some of the terms.
const BEHIND: i64 = 20;

/// The IDs that one member has issued.
#[derive(Clone, Copy)]
struct Issued {
    /// The last one.
    id: i64,
    /// The time of the last one, Unix ms.
    time: i64,
    /// True if a primary was promoted since by a clock that was past them.
    is_passed: bool,
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis() as i64
}

/// The state of a member's IDs, from the list of all that clients received.
fn issued(member: usize, ids: &[i64]) -> Issued {
    let own = ids.iter().filter(|id| (*id >> 12 & 31) as usize == member + 1);
    let id = own.max().copied().unwrap_or(-1);
    Issued { id, time: (id >> 22) + 1_288_834_974_657, is_passed: false }
}

#[test]
#[ignore = "takes minutes: make test-fleet"]
fn no_id_comes_twice_in_twenty_failovers_of_members_that_keep_their_numbers() {
    let (mut members, journal, mut rng) =
        (Members::start("0"), Journal::new(), Rng::with_seed(seed()));
    let mut last = [0, 1, 2].map(|member| issued(member, &[]));
    let (mut lost, mut unfenced, mut idle, mut behind) = (0, 0, 0, 0);
    for failover in 0..FAILOVERS {
        let old = members.leader;
        let new = *rng.choice(&members.others(old)).expect("two");
        let goes_on = failover % 3 == 2;
        let takes_ids = failover % 4 != 3;
        journal.under_load(&members.leader().config(), if takes_ids { 3 } else { 0 }, MANY, || {
            if takes_ids {
                journal.wait_for(20_000);
            }
            members.cut();
            thread::sleep(Duration::from_millis(rng.u64(500..3000)));
        });
        if !goes_on {
            members.members[old].kill();
        }
        // The member's clock may be behind if one in between was past its IDs, and is right
        // otherwise.
        let may_be_behind = last[new].is_passed || last[new].id < 0;
        let offset = if may_be_behind && rng.bool() { -BEHIND } else { 0 };
        behind += usize::from(offset < 0);
        members.members[new].set_clock(&format!("{offset:+}s"));
        if !may_be_behind {
            eventually("the clock passes its IDs", || now() > last[new].time);
        }
        let floor = "SELECT coalesce(snowflake_max(snowflake_floor()), 0)";
        let received = members.members[new].bigint(floor);
        let clock = now() + 1000 * offset;
        members.promote(new);
        let above = last[new].id;
        let first = journal.take(&mut members.leader().connect(), MANY).expect("IDs");
        assert!(first - 999 > above, "{first} is not above {above}");
        if goes_on {
            let old = members.members[old].config();
            journal.under_load(&old, 2, MANY, || journal.wait_for(20_000));
            unfenced += 1;
        }
        idle += usize::from(!takes_ids);
        let ids = journal.ids();
        for (member, last) in last.iter_mut().enumerate() {
            if member == old {
                *last = issued(member, &ids);
                lost += ids
                    .iter()
                    .filter(|id| (**id >> 12 & 31) as usize == old + 1 && **id > received)
                    .count();
            }
            if member != new && clock > last.time {
                last.is_passed = true;
            }
        }
        let others = members.others(new);
        others.iter().for_each(|member| members.follow_leader(*member));
        members.wait_for_standbys();
        let leaders = members.leader().bigint(floor);
        for member in others {
            let mut client = members.members[member].connect();
            eventually("the floor is there", || bigint(&mut client, floor) >= leaders);
        }
        println!("{failover}: {} to {}, {offset} s, {} IDs", old + 1, new + 1, journal.count());
    }
    let workers = bigints(
        &mut members.leader().connect(),
        "SELECT DISTINCT snowflake_worker_id(snowflake_nextval())::bigint",
    );
    assert_eq!(workers, [members.leader as i64 + 1]);
    println!(
        "{} IDs, {lost} of them lost, {unfenced} old primaries went on, {idle} terms without a load, \
         {behind} clocks behind",
        journal.check_in_any_order()
    );
    assert!(lost > 0 && unfenced > 0 && idle > 0 && behind > 0);
}
