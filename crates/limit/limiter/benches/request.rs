//! Cost of a request: `cargo bench -p fanin-limit`. Exits with 1 if the median is above 200 ns.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use fanin_limit::{Law, Limit, Limiter, Settings};

const REQUESTS: u32 = 100_000;
const BUDGET: Duration = Duration::from_nanos(200);

/// Median of 31 runs, per request.
#[expect(clippy::disallowed_methods, reason = "a measurement")]
fn median(mut run: impl FnMut()) -> Duration {
    let mut times = [Duration::ZERO; 31];
    for time in &mut times {
        let begun = Instant::now();
        run();
        *time = begun.elapsed() / REQUESTS;
    }
    times.sort_unstable();
    times[times.len() / 2]
}

fn main() -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for law in Law::ALL {
        let settings = Settings { law, ..Settings::default() };
        let (mut limiter, mut now) = (Limiter::new(settings.clone()), 0);
        let arithmetic = median(|| {
            for _ in 0..REQUESTS {
                now += 1000;
                let ticket = limiter.request(now, 0, Some(black_box(1000)));
                limiter.finish(now + 100, ticket, 1000);
                black_box(limiter.admit_next(now));
            }
        });
        let limit = Limit::new(settings);
        let shared = median(|| {
            for _ in 0..REQUESTS {
                limit.acquire(black_box(1000)).finish(1000);
            }
        });
        println!("{:>12}: {} ns, with lock and clock {} ns", law.name(), arithmetic.as_nanos(), shared.as_nanos());
        if shared > BUDGET {
            println!("  over the limit of {} ns", BUDGET.as_nanos());
            code = ExitCode::FAILURE;
        }
    }
    code
}
