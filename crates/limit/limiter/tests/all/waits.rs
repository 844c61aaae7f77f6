//! Waits of threads and tasks.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use fanin_limit::{Law, Limit, Settings};
use fanin_testing::{LIMIT, wait_until};

fn limit(budget: u64) -> Limit {
    Limit::new(Settings { law: Law::OneAll, budget: Some(budget), ..Settings::default() })
}

/// Number of wakes.
#[derive(Default)]
struct Count(AtomicU32);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn task_is_woken_once_when_it_is_admitted() {
    let limit = limit(1000);
    let (first, count) = (limit.acquire(600), Arc::new(Count::default()));
    let waker = Waker::from(count.clone());
    let mut context = Context::from_waker(&waker);
    let mut second = pin!(limit.ready(600));
    assert!(second.as_mut().poll(&mut context).is_pending());
    assert!(limit.try_acquire(1).is_none(), "others wait");
    first.received(199);
    assert_eq!(count.0.load(Ordering::SeqCst), 0);
    first.received(1);
    assert_eq!(count.0.load(Ordering::SeqCst), 1);
    let Poll::Ready(second) = second.poll(&mut context) else { panic!("it was woken") };
    first.finish(600);
    second.finish(600);
    let figures = limit.figures();
    assert_eq!((figures.in_flight, figures.responses, figures.bytes, figures.waited), (0, 2, 1200, 1));
}

#[test]
fn dropped_waits_leave_the_queue() {
    let limit = limit(1000);
    let first = limit.acquire(1000);
    let waker = Waker::from(Arc::new(Count::default()));
    let mut context = Context::from_waker(&waker);
    let mut second = Box::pin(limit.ready(1000));
    let mut third = Box::pin(limit.ready(1000));
    assert!(second.as_mut().poll(&mut context).is_pending() && third.as_mut().poll(&mut context).is_pending());
    drop(second);
    drop(first);
    // It is admitted, and dropped before it is polled again.
    drop(third);
    assert_eq!((limit.figures().in_flight, limit.figures().cancelled), (0, 3));
    assert!(limit.try_acquire(1000).is_some());
}

#[test]
fn wait_with_a_limit_ends() {
    let limit = limit(1000);
    let held = limit.acquire(1000);
    assert!(limit.acquire_timeout(1, Duration::from_millis(1)).is_none());
    held.finish(1000);
    assert!(limit.acquire_timeout(1, LIMIT).is_some());
    assert_eq!(limit.figures().in_flight, 0);
}

#[test]
fn panics_and_errors_of_threads_leave_no_byte() {
    let limit = limit(3000);
    thread::scope(|scope| {
        for number in 0..8u64 {
            let limit = limit.caller(number);
            scope.spawn(move || {
                for round in 0..200u64 {
                    let grant = limit.acquire((round % 3 != 0).then_some(1000));
                    assert!(limit.figures().in_flight <= 3000 || limit.figures().outstanding == 1);
                    match round % 4 {
                        0 => grant.finish(900),
                        1 => drop(grant),
                        2 => {
                            let _ = catch_unwind(AssertUnwindSafe(|| {
                                let _held = grant;
                                std::panic::resume_unwind(Box::new(()));
                            }));
                        }
                        _ => {
                            grant.expect(800);
                            grant.received(500);
                        }
                    }
                }
            });
        }
    });
    let figures = limit.figures();
    assert_eq!((figures.in_flight, figures.outstanding, figures.waiting), (0, 0, 0));
    assert_eq!((figures.admitted, figures.responses, figures.cancelled), (1600, 400, 1200));
}

#[test]
fn waiting_threads_go_on_in_order() {
    let limit = limit(10);
    let held = limit.acquire(10);
    let order = AtomicU32::new(0);
    thread::scope(|scope| {
        for number in 0..5 {
            scope.spawn(|| {
                let own = limit.figures().waiting;
                let grant = limit.acquire(10);
                assert_eq!(order.fetch_add(1, Ordering::SeqCst), own);
                grant.finish(10);
            });
            wait_until("another waits", || limit.figures().waiting == number + 1);
        }
        held.finish(10);
    });
}

#[test]
fn page_of_metrics_has_every_figure() {
    let limit = limit(1000);
    limit.acquire(10).finish(10);
    let page = limit.figures().prometheus();
    assert_eq!(page.lines().count(), 42);
    assert!(page.contains("# TYPE fanin_limit_in_flight_bytes gauge\nfanin_limit_in_flight_bytes 0\n"), "{page}");
    assert!(page.contains("\nfanin_limit_response_bytes_total 10\n"), "{page}");
}
