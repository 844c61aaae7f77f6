//! A wrapper for stores of the crate `object_store`.

use core::fmt;
use core::ops::Range;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::boxed::Box;
use std::vec::Vec;

use bytes::Bytes;
use futures_core::Stream;
use futures_core::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetRange, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result,
};

use crate::{Grant, Limit};

/// A store whose reads wait for a grant. A read holds it until its stream has ended or is dropped, so read a stream before you open more of
/// them than the limit permits. Writes, lists and copies do not wait: their responses are small.
#[derive(Clone, Debug)]
pub struct LimitStore<T> {
    limit: Limit,
    inner: T,
}

impl<T: ObjectStore> LimitStore<T> {
    /// A store under this limit, which may have several.
    pub fn new(inner: T, limit: Limit) -> LimitStore<T> {
        LimitStore { limit, inner }
    }
}

impl<T: ObjectStore> fmt::Display for LimitStore<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LimitStore({})", self.inner)
    }
}

/// Size that the options of a read state, if any.
fn expected(options: &GetOptions) -> Option<u64> {
    match &options.range {
        _ if options.head => Some(0),
        Some(GetRange::Bounded(range)) => Some(range.end.saturating_sub(range.start)),
        Some(GetRange::Suffix(bytes)) => Some(*bytes),
        Some(GetRange::Offset(_)) | None => None,
    }
}

#[async_trait::async_trait]
impl<T: ObjectStore> ObjectStore for LimitStore<T> {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let is_head = options.head;
        let grant = self.limit.ready(expected(&options)).await;
        let result = self.inner.get_opts(location, options).await?;
        if is_head {
            grant.finish(0);
            return Ok(result);
        }
        let bytes = result.range.end.saturating_sub(result.range.start);
        grant.expect(bytes);
        let payload = match result.payload {
            GetResultPayload::Stream(stream) => {
                GetResultPayload::Stream(Box::pin(LimitStream { stream, grant: Some(grant) }))
            }
            // A file of this host.
            #[allow(unreachable_patterns, reason = "only with the feature `fs` of object_store")]
            other => other,
        };
        Ok(GetResult { payload, ..result })
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let bytes = ranges.iter().map(|range| range.end.saturating_sub(range.start)).fold(0, u64::saturating_add);
        let grant = self.limit.ready(bytes).await;
        let found = self.inner.get_ranges(location, ranges).await?;
        grant.finish(found.iter().map(|part| part.len() as u64).sum());
        Ok(found)
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.inner.rename_opts(from, to, options).await
    }
}

/// A read's bytes, which are no longer on their way when they have been read.
struct LimitStream {
    stream: BoxStream<'static, Result<Bytes>>,
    grant: Option<Grant>,
}

impl Stream for LimitStream {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        let item = ready!(self.stream.as_mut().poll_next(context));
        match &item {
            Some(Ok(bytes)) => {
                if let Some(grant) = &self.grant {
                    grant.received(bytes.len() as u64);
                }
            }
            Some(Err(_)) => self.grant = None,
            None => {
                if let Some(grant) = self.grant.take() {
                    grant.finish(0);
                }
            }
        }
        Poll::Ready(item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.stream.size_hint()
    }
}
