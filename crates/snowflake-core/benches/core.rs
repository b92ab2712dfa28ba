//! The cost of the core, without a server: `cargo bench -p snowflake-core`.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use snowflake_core::defaults::LIMITS;
use snowflake_core::generator::{Decision, Generator, Limits, Reading, Request};
use snowflake_core::layout::Layout;
use snowflake_core::outside::text::{from_base62, iso8601, to_base62};
use snowflake_core::ring::Ring;
use snowflake_core::time::{Span, Timestamp};

const NOW: Timestamp = Timestamp(1_800_000_000_000);
const ID: i64 = 1_268_118_639_732_232_192;

/// One ID of the default layout, and one of a sequence that has no end.
const ONE: Request =
    Request { first: 0, want: 1, last_sequence: Layout::TWITTER.last_sequence(), leave: 0 };
const ENDLESS: Request = Request { last_sequence: u32::MAX - 1, ..ONE };

fn ready() -> Generator {
    let mut generator =
        Generator::starting_after(NOW - Span(1), Span::ZERO, Layout::TWITTER.last_timestamp());
    generator.raise_floor(NOW + Span(1_000_000), NOW + Span(999_000));
    generator
}

fn generator(criterion: &mut Criterion) {
    let mut ring: Ring = Ring::new();
    let mut within = ready();
    criterion.bench_function("take_at_once: within a millisecond", |bencher| {
        bencher
            .iter(|| within.take_at_once(&mut ring, black_box(NOW), ENDLESS, || LIMITS.max_burst));
    });
    let mut next = ready();
    let mut now = NOW;
    criterion.bench_function("take_at_once: a new millisecond each time", |bencher| {
        bencher.iter(|| {
            now += Span(1);
            next.raise_floor(now + Span(2000), now + Span(1000));
            next.take_at_once(&mut ring, black_box(now), ONE, || LIMITS.max_burst)
        });
    });
    let mut behind = ready();
    let mut seen = None;
    criterion.bench_function("take: refused", |bencher| {
        let limits =
            Limits { max_backward_step: Some(Span::ZERO), max_wait: Some(Span::ZERO), ..LIMITS };
        behind.take(&mut ring, Reading { now: NOW, seen }, ENDLESS, &limits);
        bencher.iter(|| {
            let reading = Reading { now: black_box(NOW - Span(1000)), seen };
            let decision = behind.take(&mut ring, reading, ENDLESS, &limits);
            if let Decision::Reread { seen: now_seen } = decision {
                seen = Some(now_seen);
            }
            decision
        });
    });
}

fn layout(criterion: &mut Criterion) {
    let layout = Layout::TWITTER;
    criterion
        .bench_function("decompose", |bencher| bencher.iter(|| layout.decompose(black_box(ID))));
    let parts = layout.decompose(ID).expect("an ID");
    criterion
        .bench_function("compose", |bencher| bencher.iter(|| layout.compose(black_box(parts))));
}

fn text(criterion: &mut Criterion) {
    criterion.bench_function("to_base62", |bencher| bencher.iter(|| to_base62(black_box(ID))));
    criterion.bench_function("from_base62", |bencher| {
        bencher.iter(|| from_base62(black_box("1Vfznn0WLjc")))
    });
    criterion.bench_function("iso8601", |bencher| bencher.iter(|| iso8601(black_box(NOW))));
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(2));
    targets = generator, layout, text
}
criterion_main!(benches);
