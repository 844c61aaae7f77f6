//! HTTP requests through the layer.

use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use fanin_limit::tower::{ExpectedSize, LimitBody, LimitLayer, LimitService};
use fanin_limit::{Law, Limit, Settings};
use http::{Request, Response};
use http_body::{Body, Frame};
use http_body_util::Full;
use tower_layer::Layer;
use tower_service::Service;

type Bytes = bytes::Bytes;

/// A server whose responses have this body.
#[derive(Clone)]
struct Server<B>(B);

impl<B: Clone> Service<Request<()>> for Server<B> {
    type Response = Response<B>;
    type Error = Infallible;
    type Future = Ready<Result<Response<B>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        ready(Ok(Response::new(self.0.clone())))
    }
}

/// Two pieces of 300 bytes, then the end, or an error.
#[derive(Clone)]
struct Pieces {
    sent: usize,
    fails: bool,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = String;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, String>>> {
        self.sent += 1;
        Poll::Ready(match self.sent {
            1 | 2 => Some(Ok(Frame::data(Bytes::from_static(&[0; 300])))),
            _ if self.fails => Some(Err("reset".into())),
            _ => None,
        })
    }
}

fn limit(budget: u64) -> Limit {
    Limit::new(Settings { law: Law::OneAll, budget: Some(budget), ..Settings::default() })
}

fn get(range: &str) -> Request<()> {
    Request::get("http://server/object").header("range", range).body(()).unwrap()
}

fn now<T>(poll: Poll<T>) -> T {
    let Poll::Ready(value) = poll else { panic!("it waits") };
    value
}

fn context() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

fn response<B: Body + Clone>(service: &mut LimitService<Server<B>>, request: Request<()>) -> LimitBody<B> {
    now(pin!(service.call(request)).poll(&mut context())).unwrap().into_body()
}

#[test]
fn request_waits_until_bytes_of_others_have_arrived() {
    let limit = limit(1000);
    let mut service = LimitLayer::new(limit.clone()).layer(Server(Pieces { sent: 0, fails: false }));
    let mut first = pin!(response(&mut service, get("bytes=100-699")));
    assert_eq!(limit.figures().in_flight, 600);
    let mut second = pin!(service.call(get("bytes=-500")));
    assert!(second.as_mut().poll(&mut context()).is_pending());
    assert!(now(first.as_mut().poll_frame(&mut context())).is_some());
    assert_eq!(limit.figures().in_flight, 800);
    drop(now(second.poll(&mut context())));
    assert_eq!(limit.figures().in_flight, 300);
    assert!(now(first.as_mut().poll_frame(&mut context())).is_some());
    assert!(now(first.as_mut().poll_frame(&mut context())).is_none());
    let figures = limit.figures();
    assert_eq!((figures.in_flight, figures.responses, figures.bytes, figures.cancelled), (0, 1, 600, 1));
}

#[test]
fn failed_and_dropped_bodies_give_back_their_bytes() {
    let limit = limit(1000);
    let mut service = LimitLayer::new(limit.clone()).layer(Server(Pieces { sent: 0, fails: true }));
    let mut failed = pin!(response(&mut service, get("bytes=0-")));
    while !matches!(now(failed.as_mut().poll_frame(&mut context())), Some(Err(_))) {}
    assert_eq!(limit.figures().in_flight, 0);
    drop(response(&mut service, get("bytes=0-9,20-29")));
    assert_eq!((limit.figures().in_flight, limit.figures().cancelled), (0, 2));
    // A request that is dropped while it waits, and one that is never polled.
    let held = limit.acquire(1000);
    let mut waits = Box::pin(service.call(get("bytes=0-1")));
    assert!(waits.as_mut().poll(&mut context()).is_pending());
    drop(waits);
    drop(service.call(get("bytes=0-1")));
    drop(held);
    assert_eq!((limit.figures().in_flight, limit.figures().waiting), (0, 0));
}

#[test]
fn body_of_known_size_corrects_the_expected_one() {
    let limit = limit(10_000);
    let mut service = LimitLayer::new(limit.clone()).layer(Server(Full::new(Bytes::from_static(&[0; 4000]))));
    let mut request = Request::get("http://server/object").body(()).unwrap();
    request.extensions_mut().insert(ExpectedSize(10));
    let mut body = pin!(response(&mut service, request));
    assert_eq!(limit.figures().in_flight, 4000);
    assert!(now(body.as_mut().poll_frame(&mut context())).is_some());
    // The body has ended with its last bytes.
    assert_eq!((limit.figures().in_flight, limit.figures().mean), (0, 4000));
}

#[test]
fn empty_body_needs_no_poll() {
    let limit = limit(10_000);
    let mut service = LimitLayer::new(limit.clone()).layer(Server(Full::new(Bytes::new())));
    let _body = response(&mut service, Request::head("http://server/object").body(()).unwrap());
    assert_eq!((limit.figures().in_flight, limit.figures().responses), (0, 1));
}
