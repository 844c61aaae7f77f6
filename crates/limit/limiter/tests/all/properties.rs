//! Invariants of the limiter under any requests and ends.

use fanin_limit::{Law, Limiter, Settings, Ticket};
use proptest::prelude::*;

fn sizes() -> impl Strategy<Value = u64> {
    prop_oneof![0..10u64, 0..2_000_000u64, Just(1 << 63), Just(u64::MAX), any::<u64>()]
}

fn settings() -> impl Strategy<Value = Settings> {
    (prop::sample::select(&Law::ALL[..]), prop::option::of(1..1_000_000u64), 1..100_000u64)
        .prop_map(|(law, budget, expected)| Settings { law, budget, expected, ..Settings::default() })
}

/// A random step: which kind, which request, a size, and the time since the last step, which may be negative.
type Step = (u8, prop::sample::Index, u64, i32);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((0..8u8, any::<prop::sample::Index>(), sizes(), -1000..1_000_000i32), 1..400)
}

/// A limiter with the charges that it should have.
struct Model {
    limiter: Limiter,
    live: Vec<Ticket>,
    now: u64,
}

impl Model {
    fn step(&mut self, step: &Step) {
        let (kind, which, bytes, wait) = step;
        self.now = self.now.saturating_add_signed((*wait).into());
        if self.live.is_empty() || *kind < 3 {
            let expected = (*kind != 0).then_some(*bytes);
            self.live.push(self.limiter.request(self.now, bytes % 5, expected));
            return;
        }
        let at = which.index(self.live.len());
        let ticket = self.live[at];
        match kind {
            3 => self.limiter.expect(ticket, *bytes),
            4 => self.limiter.received(ticket, *bytes),
            5 if self.limiter.is_admitted(ticket) => {
                self.limiter.finish(self.now, ticket, *bytes);
                self.live.swap_remove(at);
            }
            _ => {
                self.limiter.cancel(self.now, ticket);
                self.live.swap_remove(at);
            }
        }
        while self.limiter.admit_next(self.now).is_some() {}
    }
}

proptest! {
    #![proptest_config(fanin_testing::cases(256))]

    #[test]
    fn nothing_is_held_when_every_request_has_ended(settings in settings(), steps in steps()) {
        let mut model = Model { limiter: Limiter::new(settings), live: Vec::new(), now: 0 };
        for step in &steps {
            model.step(step);
            let figures = model.limiter.figures();
            prop_assert_eq!((figures.outstanding + figures.waiting) as usize, model.live.len());
            // Progress: something is always in flight while requests wait.
            prop_assert!(figures.waiting == 0 || figures.outstanding > 0);
            prop_assert!((figures.in_flight == 0) == (figures.outstanding == 0));
        }
        for ticket in std::mem::take(&mut model.live) {
            model.limiter.cancel(model.now, ticket);
        }
        while model.limiter.admit_next(model.now).is_some() {}
        let figures = model.limiter.figures();
        prop_assert_eq!((figures.in_flight, figures.outstanding, figures.waiting), (0, 0, 0));
    }

    #[test]
    fn budget_is_exceeded_by_a_single_response_alone(
        budget in 1..100_000u64,
        law in prop::sample::select(&Law::ALL[..]),
        sizes in prop::collection::vec(0..200_000u64, 1..200),
    ) {
        let mut limiter = Limiter::new(Settings { law, budget: Some(budget), ..Settings::default() });
        let mut waiting: Vec<Ticket> = sizes.iter().map(|size| limiter.request(0, 0, Some(*size))).collect();
        let mut now = 0;
        while !waiting.is_empty() {
            let figures = limiter.figures();
            prop_assert!(figures.in_flight <= budget || figures.outstanding == 1, "{:?}", figures);
            now += 1000;
            // Requests of one caller are admitted in order.
            let first = waiting.remove(0);
            prop_assert!(limiter.is_admitted(first));
            limiter.finish(now, first, 0);
            while limiter.admit_next(now).is_some() {}
        }
    }
}

/// The random requests and ends of `vectors/limit.json`.
fn at_random(settings: Settings, steps: u64) -> Limiter {
    let mut limiter = Limiter::new(settings);
    let (mut live, mut random, mut now) = (Vec::new(), 1u64, 0);
    for _ in 0..steps {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (kind, size) = (random >> 61, random >> 40 & 0xF_FFFF);
        now += random >> 50 & 0xFFF;
        live.push(limiter.request(now, kind, (kind > 1).then_some(size)));
        if live.len() > 64 {
            let at_random = (random >> 33) as usize % 64;
            let admitted = live.iter().position(|ticket| limiter.is_admitted(*ticket));
            let ticket = live.swap_remove(if kind < 6 { admitted.unwrap_or(at_random) } else { at_random });
            match kind {
                0..=3 => limiter.finish(now, ticket, size),
                // An error in the middle of the response.
                4 => {
                    limiter.received(ticket, size / 2);
                    limiter.cancel(now, ticket);
                }
                _ => limiter.cancel(now, ticket),
            }
            while limiter.admit_next(now).is_some() {}
        }
    }
    live.into_iter().for_each(|ticket| limiter.cancel(now, ticket));
    limiter
}

#[test]
fn million_random_ends_leave_no_byte() {
    let limiter = at_random(Settings { budget: Some(1 << 20), ..Settings::default() }, 1_000_000);
    let figures = limiter.figures();
    assert_eq!((figures.in_flight, figures.outstanding, figures.waiting), (0, 0, 0));
    assert!(figures.responses > 100_000 && figures.cancelled > 100_000 && figures.waited > 1_000, "{figures:?}");
}

/// `UPDATE=1` prints the figures.
#[test]
#[expect(clippy::disallowed_methods, reason = "figures are updated on request")]
fn random_requests_have_the_same_figures_in_every_language() {
    let file: serde_json::Value = serde_json::from_str(include_str!("../../../../../vectors/limit.json")).unwrap();
    for case in file["random"]["cases"].as_array().unwrap() {
        let settings = Settings::from_json(&case["settings"].to_string()).unwrap();
        let figures = at_random(settings, file["random"]["steps"].as_u64().unwrap()).figures();
        let found = serde_json::json!({
            "in_flight": figures.in_flight, "waiting": figures.waiting, "limit": figures.limit, "window": figures.window,
            "mean": figures.mean, "admitted": figures.admitted, "waited": figures.waited, "waited_ns": figures.waited_ns, "waited_bytes": figures.waited_bytes,
            "responses": figures.responses, "bytes": figures.bytes, "cancelled": figures.cancelled, "late": figures.late,
        });
        if std::env::var_os("UPDATE").is_some() {
            println!("{}: {found}", case["settings"]);
        } else {
            assert_eq!(found, case["expect"], "{}", case["settings"]);
        }
    }
}
