//! Reads of a store in memory: `cargo test -p fanin-limit --features object_store`.
#![cfg(feature = "object_store")]

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use fanin_limit::object_store::LimitStore;
use fanin_limit::{Law, Limit, Settings};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{GetResultPayload, ObjectStore, ObjectStoreExt, PutPayload};

fn context() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

fn now<F: Future>(future: F) -> F::Output {
    let Poll::Ready(value) = pin!(future).poll(&mut context()) else { panic!("it waits") };
    value
}

fn store() -> (LimitStore<InMemory>, Limit, Path) {
    let limit = Limit::new(Settings { law: Law::OneAll, budget: Some(1000), ..Settings::default() });
    let store = LimitStore::new(InMemory::new(), limit.clone());
    let path = Path::from("a/b");
    now(store.put(&path, PutPayload::from(vec![0; 900]))).unwrap();
    (store, limit, path)
}

#[test]
fn read_holds_its_bytes_until_they_are_read() {
    let (store, limit, path) = store();
    let GetResultPayload::Stream(mut stream) = now(store.get(&path)).unwrap().payload;
    assert_eq!(limit.figures().in_flight, 900);
    let mut second = Box::pin(store.get_range(&path, 0..200));
    assert!(second.as_mut().poll(&mut context()).is_pending());
    while let Poll::Ready(Some(part)) = stream.as_mut().poll_next(&mut context()) {
        part.unwrap();
    }
    assert_eq!(limit.figures().in_flight, 200);
    assert_eq!(now(second).unwrap().len(), 200);
    let figures = limit.figures();
    assert_eq!((figures.in_flight, figures.responses, figures.bytes), (0, 2, 1100));
}

#[test]
fn failed_and_dropped_reads_hold_nothing() {
    let (store, limit, path) = store();
    assert!(now(store.get(&Path::from("absent"))).is_err());
    drop(now(store.get(&path)).unwrap());
    assert_eq!(now(store.get_ranges(&path, &[0..10, 20..30])).unwrap().len(), 2);
    assert_eq!(now(store.head(&path)).unwrap().size, 900);
    let figures = limit.figures();
    assert_eq!((figures.in_flight, figures.responses, figures.cancelled, figures.bytes), (0, 2, 2, 20));
}
