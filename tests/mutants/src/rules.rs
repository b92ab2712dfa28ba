//! The rules that are broken, file by file of `crates/snowflake-core/src/`. What cargo-mutants breaks
//! as well, an operator or the value of a function, is here only where the documents name the test.

/// A rule of the core, what it becomes when it is broken, and the test that has to notice.
#[derive(Clone, Copy)]
pub struct Rule {
    /// The file.
    pub file: &'static str,
    /// The file or directory in `tests/` that has the test.
    pub tests: &'static str,
    /// The test.
    pub test: &'static str,
    /// What is in the source.
    pub sound: &'static str,
    /// What is put in its place, once.
    pub broken: &'static str,
}

/// All of them.
pub fn all() -> impl Iterator<Item = Rule> {
    let files: [(&str, &[[&str; 3]]); 11] = [
        ("generator", GENERATOR),
        ("ring", RING),
        ("deleted", DELETED),
        ("register", REGISTER),
        ("promise/reserve", RESERVE),
        ("promise/administer", ADMINISTER),
        ("jump", JUMP),
        ("layout", LAYOUT),
        ("spinlock", SPINLOCK),
        ("text", TEXT),
        ("public", PUBLIC),
    ];
    files.into_iter().flat_map(|(file, rules)| {
        rules.iter().map(move |&[test, sound, broken]| {
            // The model checker drives the machine, and so do tests of single cases.
            let tests = match file.starts_with("promise") {
                true if test.contains("::") => "machine",
                true => "model",
                false => file,
            };
            Rule { file, tests, test, sound, broken }
        })
    })
}

const GENERATOR: &[[&str; 3]] = &[
    [
        "properties::ids_strictly_increase",
        "self.sequence = run.last();",
        "self.sequence = run.first;",
    ],
    [
        "properties::ids_strictly_increase",
        "= (self.timestamp + 1, lead + 1);",
        "= (self.timestamp, lead + 1);",
    ],
    [
        "cases::a_refused_call_forgets_nothing",
        "return if until",
        "self.sequence = 0; return if until",
    ],
    [
        "properties::an_id_is_never_behind_its_reading",
        "timestamp: now, first: request.first, hold: 0 }",
        "timestamp: self.timestamp + 1, first: request.first, hold: 0 }",
    ],
    ["properties::lead_never_grows_by_itself", "hold: self.hold.min(lead),", "hold: self.hold,"],
    [
        "properties::a_held_step_keeps_the_full_rate",
        "let explained = limits.max_burst.max(self.hold);",
        "let explained = limits.max_burst;",
    ],
    [
        "properties::a_hold_leaves_max_burst_alone",
        "let explained = limits.max_burst.max(self.hold);",
        "let explained = if self.hold > 0 { self.hold } else { limits.max_burst };",
    ],
    ["properties::a_stale_reading_is_no_step", "if reading.seen != seen {", "if false {"],
    ["cases::a_lead_of_a_burst_is_no_step", "1, lead + 1);", "1, self.hold.min(lead + 1));"],
    ["properties::a_stale_reading_is_no_step", "1, lead + 1);", "1, self.hold.min(lead + 1));"],
    [
        "cases::a_reading_from_before_the_hold_melted_is_stale",
        "if reading.seen != seen {",
        "if reading.seen.timestamp < self.timestamp {",
    ],
    [
        "properties::a_wait_is_for_a_time_that_has_not_come",
        "if reading.seen != seen {",
        "if false {",
    ],
    [
        "properties::nothing_beyond_the_reservation_or_the_field",
        "} else if next.timestamp > self.floor {",
        "} else if false {",
    ],
    ["cases::the_field_ends_without_a_wrap", "timestamp.min(self.last_timestamp)", "timestamp"],
    [
        "properties::a_step_beyond_max_backward_step_is_never_held",
        "if lead <= limits.max_backward_step {",
        "if lead - 1 <= limits.max_backward_step {",
    ],
    [
        "cases::a_reservation_is_asked_for_early",
        "self.reserve_after = reserve_after.min(self.floor);",
        "self.reserve_after = self.floor;",
    ],
    [
        "cases::a_reservation_is_asked_for_early",
        "self.reserve_after = self.floor.min(next.timestamp + ASK_AGAIN);",
        "",
    ],
    [
        "properties::ids_strictly_increase",
        "(next.timestamp <= self.reserve_after).then",
        "true.then",
    ],
    [
        "cases::a_reservation_is_asked_for_early",
        "(next.timestamp <= self.reserve_after).then",
        "(next.timestamp <= self.floor).then",
    ],
    [
        "observe::what_is_waited_for_is_when_ids_go_on",
        "limits.largest_lead(self.hold)",
        "limits.max_backward_step",
    ],
    ["observe::what_is_waited_for_is_when_ids_go_on", "self.max_burst.max(hold).max(", "hold.max("],
    [
        "properties::a_step_beyond_max_backward_step_is_never_held",
        "reading.now <= limits.max_wait",
        "reading.now < limits.max_wait",
    ],
    ["cases::a_frozen_generator_issues_nothing_later", "self.reserve_after = self.timestamp;", ""],
    [
        "properties::what_is_reused_is_distinct",
        "if next.timestamp != self.timestamp && self.recording {",
        "if false {",
    ],
    ["properties::what_is_reused_is_distinct", "ring.record(timestamp, run.last());", ""],
    [
        "properties::what_is_reused_is_distinct",
        "ring.begin(self.timestamp);",
        "ring.begin(self.timestamp - 9);",
    ],
    ["properties::reuse_keeps_to_its_window", "if lead <= limits.reuse_window", "if true"],
    [
        "properties::reuse_keeps_to_its_window",
        "ring.begin(self.timestamp);",
        "ring.begin(i64::MIN);",
    ],
    ["reuse::reuse_begins_where_it_is_switched_on", "if !self.recording {", "if false {"],
    [
        "reuse::a_run_leaves_ids_to_others",
        "request.last_sequence - request.leave {",
        "request.last_sequence {",
    ],
    [
        "reuse::a_run_leaves_ids_to_others",
        "self.last_sequence - self.leave;",
        "self.last_sequence;",
    ],
    ["observe::whoever_has_seen_an_id_issues_greater_ones", "self.sequence = NOTHING_ISSUED;", ""],
    [
        "observe::whoever_has_seen_an_id_issues_greater_ones",
        "else if timestamp > self.floor",
        "else if timestamp > self.last_timestamp",
    ],
    ["observe::nothing_below_an_observed_id_is_reused", "ring.forget(timestamp);", ""],
    [
        "observe::what_is_followed_is_within_the_limit",
        "if lead > max_lead {",
        "if lead > max_lead + 1 {",
    ],
    ["observe::an_observed_lead_is_no_step", "self.hold = lead.max(0);", ""],
];

const RING: &[[&str; 3]] = &[
    ["what_is_unused_is_known_and_nothing_else", " || used.timestamp > timestamp", ""],
    ["what_is_unused_is_known_and_nothing_else", "timestamp <= self.after || ", ""],
    [
        "what_is_unused_is_known_and_nothing_else",
        "used.sequence.checked_add(1)",
        "Some(used.sequence)",
    ],
    ["what_is_unused_is_known_and_nothing_else", "Some(first)", "None"],
];

const DELETED: &[[&str; 3]] = &[
    [
        "nothing_that_was_deleted_seems_new",
        "self.forgotten = self.ids[quarter - 1];",
        "self.forgotten = self.ids[0];",
    ],
    ["nothing_that_was_deleted_seems_new", "let quarter = N / 4;", "let quarter = N / 2;"],
    [
        "the_order_of_two_workers_does_not_matter",
        "at.saturating_sub(self.forget())",
        "{ self.forget(); at }",
    ],
];

const REGISTER: &[[&str; 3]] = &[
    [
        "starts::a_start_begins_above_the_record",
        "record.floor.saturating_add(self.margin(record)));",
        "record.floor);",
    ],
    ["starts::a_floor_is_above_start_after_too", "recorded.max(self.start_after)", "recorded"],
    [
        "starts::a_start_begins_above_the_record",
        "self.begin(record.floor.saturating_add(margin), now)?",
        "self.begin(record.floor.saturating_add(margin) - 1, now)?",
    ],
    ["starts::a_start_begins_above_the_record", "=> timelines.into(),", "=> 0,"],
    ["starts::every_timeline_adds_a_margin", "=> timelines.into(),", "=> 1,"],
    ["starts::a_start_begins_above_the_record", "lead.min(explained) };", "lead };"],
    [
        "reservations::a_crash_adds_little_to_the_lead",
        "lead.min(explained) };",
        "lead.min(RESERVATION) };",
    ],
    ["starts::a_promotion_explains_its_lead", " && lead <= self.max_backward_step", ""],
    [
        "starts::a_promotion_explains_its_lead",
        "record.timeline != self.timeline && lead",
        "false && lead",
    ],
    [
        "upstream::a_promotion_is_compared_with_its_upstream",
        "upstream.filter(|_| record.timeline != self.timeline)",
        "upstream",
    ],
    [
        "reservations::a_crash_adds_little_to_the_lead",
        "timestamp + reach(age)",
        "timestamp + RESERVATION",
    ],
    [
        "reservations::a_crash_adds_little_to_the_lead",
        "timestamp + reach(age)",
        "timestamp.max(floor) + reach(age)",
    ],
    [
        "reservations::a_lag_of_a_second_is_covered",
        "timestamp + reach(age)",
        "timestamp + reach(0)",
    ],
    [
        "reservations::a_lag_of_a_second_is_covered",
        "record.floor - left / 2",
        "record.floor - left / 4",
    ],
    [
        "reservations::a_reservation_only_adds",
        "self.record(ahead.max(floor), now)",
        "self.record(ahead, now)",
    ],
    ["bytes::any_flipped_bit_is_noticed", "if record.encode() == *bytes {", "if true {"],
    [
        "starts::a_start_of_another_system_or_layout_is_refused",
        "if record.system_identifier != self.system_identifier {",
        "if false {",
    ],
    [
        "starts::a_start_of_another_system_or_layout_is_refused",
        "if !record.accepts(self.layout) || !self.is_above_all(record) {",
        "if false {",
    ],
    [
        "layouts::whatever_layouts_are_confirmed_ids_increase",
        "if !record.accepts(self.layout) || !self.is_above_all(record) {",
        "if false {",
    ],
    [
        "layouts::a_layout_is_confirmed_if_it_is_above_the_margin_of_a_promotion",
        "if !self.is_above_all(record) {",
        "if false {",
    ],
    [
        "layouts::a_confirmed_layout_and_the_former_one_are_accepted_until_the_first_reservation",
        "Record { confirmed, floor, timeline: self.timeline, ..*record }",
        "Record { layout: self.layout, ..*record }",
    ],
    ["bytes::decode_inverts_encode", "length = LENGTH;", ""],
    [
        "layouts::a_changed_layout_goes_on_above_the_old_one",
        "lowest.is_ok_and(|id| id > highest)",
        "lowest.is_ok()",
    ],
    [
        "layouts::a_confirmed_layout_does_no_harm_if_it_is_lost_with_its_first_ids",
        " || !self.is_above_all(record) {",
        " {",
    ],
    [
        "layouts::a_confirmed_layout_does_no_harm_if_it_is_lost_with_its_first_ids",
        "record.confirmed.filter(|_| record.timeline != self.timeline)",
        "None::<Layout>",
    ],
];

const RESERVE: &[[&str; 3]] = &[
    [
        "whatever_fails_between_two_effects_the_design_holds",
        "let least = written.max(published.floor);",
        "let least = published.floor;",
    ],
    [
        "steps::a_record_that_is_not_durable_is_not_published",
        "if position <= durable =>",
        "if position <= durable.max(position) =>",
    ],
];

const ADMINISTER: &[[&str; 3]] = &[
    [
        "a_floor_that_is_set_is_no_confirmation_of_the_clock",
        "if let Ok(Some((Verdict::Refuse, jump))) = verdict {",
        "if let (Ok(Some((Verdict::Refuse, jump))), false) = (verdict, true) {",
    ],
    [
        "a_floor_that_is_set_is_no_confirmation_of_the_clock",
        "recorded.map_or(clocks, |record| record.written);",
        "clocks;",
    ],
];

const JUMP: &[[&str; 3]] = &[
    [
        "time_that_passes_is_no_jump",
        "saturating_sub(last.wall).saturating_sub(passed)",
        "saturating_sub(last.wall)",
    ],
    ["a_jump_beyond_the_limit_is_refused", "by > largest", "by > largest + 1"],
    ["where_nobody_knows_only_a_year_is_refused", "limit.map(|_| YEAR)", "limit"],
    ["where_nobody_knows_only_a_year_is_refused", " && now.elapsed >= then.elapsed", ""],
    ["where_nobody_knows_only_a_year_is_refused", "now.boot == then.boot && ", ""],
    ["a_clock_that_comes_back_has_not_jumped", "Measured(ahead.min(beyond))", "Measured(ahead)"],
    [
        "a_clock_that_comes_back_has_not_jumped",
        "saturating_sub(last.wall).min(beyond)",
        "saturating_sub(last.wall)",
    ],
    ["without_a_limit_nothing_is_refused", "limit.map(|_| YEAR)", "Some(YEAR)"],
    ["a_promotion_is_judged_by_the_clock_of_its_upstream", "sent.saturating_add(ago)", "sent"],
    [
        "a_clock_that_agrees_with_the_record_is_followed",
        "ahead.min(since).min(beyond)",
        "ahead.min(beyond)",
    ],
    ["what_the_record_refuses_stays_refused", "if verdict >= judged.0 {", "if true {"],
    [
        "a_step_between_receipt_and_look_matters_little",
        "saturating_sub(received).clamp(0, unseen.max(0))",
        "saturating_sub(received)",
    ],
];

const LAYOUT: &[[&str; 3]] = &[
    ["decompose_inverts_compose", ">> (sequence + worker)", ">> (sequence + datacenter)"],
    [
        "compose_inverts_decompose",
        "let datacenter_shift = worker_shift + self.widths.worker;",
        "let datacenter_shift = worker_shift + self.widths.datacenter;",
    ],
    ["ids_sort_by_time_before_all_else", "<< self.shift) |", "<< (self.shift - 1)) |"],
    ["a_negative_number_is_no_id", "if id < 0 {", "if id < -1 {"],
];

const SPINLOCK: &[[&str; 3]] = &[
    ["ids_are_distinct", "swap(1, Acquire)", "swap(1, Ordering::Relaxed)"],
    ["ids_are_distinct", "store(0, Release)", "store(0, Ordering::Relaxed)"],
    ["who_gets_an_id_sees_its_reservation", "swap(1, Acquire)", "swap(1, Ordering::Relaxed)"],
    ["who_gets_an_id_sees_its_reservation", "store(0, Release)", "store(0, Ordering::Relaxed)"],
];

const TEXT: &[[&str; 3]] = &[
    [
        "texts_sort_as_ids",
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    ],
    ["what_is_read_is_what_is_written", "if length != LENGTH {", "if length > LENGTH {"],
    [
        "the_smallest_and_the_largest_id_have_texts_and_no_other_number",
        "None => fits = false,",
        "None => {}",
    ],
];

const PUBLIC: &[[&str; 3]] = &[
    [
        "half_of_the_bits_of_successive_ids_differ",
        "self.cipher.encrypt_block((&mut block).into());",
        "",
    ],
    [
        "another_prefix_or_key_reads_nothing",
        "(block as u64 == prefix.check)",
        "(block as u64 | 1 != 0)",
    ],
    [
        "the_largest_block_is_read_and_what_is_above_it_is_not",
        ".checked_mul(ten * ten)?",
        ".wrapping_mul(ten * ten)",
    ],
    [
        "a_file_has_a_key_on_each_line",
        "else if found.count == MOST_KEYS",
        "else if found.count == usize::MAX",
    ],
];
