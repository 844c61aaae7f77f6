//! A layer for HTTP and gRPC clients: a request waits for a grant, which its response's body gives back as it arrives.

use core::future::Future;
use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use http::header::{CONTENT_LENGTH, RANGE};
use http::{HeaderMap, Method, Request, Response};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use crate::{Grant, Limit, Ready};

/// Stated size of a request's response, as an extension of the request. Without it, a range of the request states the size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedSize(pub u64);

/// A layer whose services request from servers under a [`Limit`].
#[derive(Clone, Debug)]
pub struct LimitLayer {
    limit: Limit,
}

impl LimitLayer {
    /// A layer under this limit, which may have several.
    pub fn new(limit: Limit) -> LimitLayer {
        LimitLayer { limit }
    }
}

impl<S> Layer<S> for LimitLayer {
    type Service = LimitService<S>;

    fn layer(&self, inner: S) -> LimitService<S> {
        LimitService { limit: self.limit.clone(), inner }
    }
}

/// A service whose requests wait for a grant.
#[derive(Clone, Debug)]
pub struct LimitService<S> {
    limit: Limit,
    inner: S,
}

impl<S, B, R> Service<Request<B>> for LimitService<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone,
    R: Body,
{
    type Response = Response<LimitBody<R>>;
    type Error = S::Error;
    type Future = LimitFuture<S, B>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> LimitFuture<S, B> {
        // The service that is ready, not its clone, makes the call.
        let clone = self.inner.clone();
        let inner = mem::replace(&mut self.inner, clone);
        let wait = self.limit.ready(expected(&request));
        LimitFuture { wait, waiting: Some((inner, request)), call: None, grant: None }
    }
}

/// Size that a request states, if any.
fn expected<B>(request: &Request<B>) -> Option<u64> {
    if let Some(ExpectedSize(bytes)) = request.extensions().get() {
        return Some(*bytes);
    }
    if request.method() == Method::HEAD {
        return Some(0);
    }
    range_bytes(request.headers().get(RANGE)?.to_str().ok()?)
}

/// Bytes of a single range, such as `bytes=0-499` or `bytes=-500`.
fn range_bytes(range: &str) -> Option<u64> {
    let (first, last) = range.trim().strip_prefix("bytes=")?.split_once('-')?;
    let last: u64 = last.trim().parse().ok()?;
    match first.trim() {
        "" => Some(last),
        first => last.checked_sub(first.parse().ok()?)?.checked_add(1),
    }
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

pin_project! {
    /// A request that waits for its grant, then for its response's header.
    pub struct LimitFuture<S, B>
    where
        S: Service<Request<B>>,
    {
        #[pin]
        wait: Ready,
        waiting: Option<(S, Request<B>)>,
        #[pin]
        call: Option<S::Future>,
        grant: Option<Grant>,
    }
}

impl<S: Service<Request<B>>, B> core::fmt::Debug for LimitFuture<S, B> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("LimitFuture").field("grant", &self.grant).finish_non_exhaustive()
    }
}

impl<S, B, R> Future for LimitFuture<S, B>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: Body,
{
    type Output = Result<Response<LimitBody<R>>, S::Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if this.waiting.is_some() {
            *this.grant = Some(ready!(this.wait.poll(context)));
        }
        if let Some((mut inner, request)) = this.waiting.take() {
            this.call.set(Some(inner.call(request)));
        }
        let Some(call) = this.call.as_mut().as_pin_mut() else { return Poll::Pending };
        let response = ready!(call.poll(context));
        let grant = this.grant.take();
        Poll::Ready(response.map(|response| {
            let known = response.body().size_hint().exact().or_else(|| content_length(response.headers()));
            if let (Some(grant), Some(bytes)) = (&grant, known) {
                grant.expect(bytes);
            }
            response.map(|body| LimitBody::new(body, grant))
        }))
    }
}

pin_project! {
    /// A response's body, whose bytes are no longer on their way when they have been read. A dropped one gives back the remainder.
    #[derive(Debug)]
    pub struct LimitBody<B> {
        #[pin]
        body: B,
        grant: Option<Grant>,
    }
}

impl<B: Body> LimitBody<B> {
    fn new(body: B, grant: Option<Grant>) -> LimitBody<B> {
        let mut limited = LimitBody { body, grant };
        // Nobody needs to poll an empty body.
        if limited.body.is_end_stream() {
            finish(&mut limited.grant);
        }
        limited
    }
}

/// Ends a response of which every byte was recorded.
fn finish(grant: &mut Option<Grant>) {
    if let Some(grant) = grant.take() {
        grant.finish(0);
    }
}

impl<B: Body> Body for LimitBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        use bytes::Buf;

        let mut this = self.project();
        let frame = ready!(this.body.as_mut().poll_frame(context));
        match &frame {
            Some(Ok(frame)) => {
                if let (Some(data), Some(grant)) = (frame.data_ref(), &this.grant) {
                    grant.received(data.remaining() as u64);
                }
                if this.body.is_end_stream() {
                    finish(this.grant);
                }
            }
            Some(Err(_)) => *this.grant = None,
            None => finish(this.grant),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
