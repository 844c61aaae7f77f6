package limit

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// Transport is a [http.RoundTripper] whose requests wait for a grant. A request states its response's size by a single range in its header;
// the response's header corrects it. Bytes of a body are in flight until they are read. A body that has ended, or is closed, holds nothing.
type Transport struct {
	// Limit is the limit, which may have several transports.
	Limit *Limit
	// Base sends the requests; [http.DefaultTransport] if it is nil.
	Base http.RoundTripper
}

// RoundTrip waits for a grant, then sends the request.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	grant, err := t.Limit.Acquire(request.Context(), statedSize(request))
	if err != nil {
		if request.Body != nil {
			request.Body.Close()
		}
		return nil, err
	}
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	response, err := base.RoundTrip(request)
	if err != nil {
		grant.Release()
		return nil, err
	}
	isEmpty := request.Method == http.MethodHead || response.Body == nil || response.Body == http.NoBody
	// A connection with another protocol is the caller's.
	if isEmpty || response.StatusCode == http.StatusSwitchingProtocols {
		grant.Finish(0)
		return response, nil
	}
	if response.ContentLength >= 0 {
		grant.Expect(response.ContentLength)
	}
	response.Body = &body{ReadCloser: response.Body, grant: grant}
	return response, nil
}

// body records the bytes of a response as they are read.
type body struct {
	io.ReadCloser
	grant *Grant
	ended sync.Once
}

func (b *body) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if n > 0 {
		b.grant.Received(int64(n))
	}
	switch {
	case err == io.EOF:
		b.ended.Do(func() { b.grant.Finish(0) })
	case err != nil:
		b.ended.Do(b.grant.Release)
	}
	return n, err
}

func (b *body) Close() error {
	b.ended.Do(b.grant.Release)
	return b.ReadCloser.Close()
}

// statedSize is the size that a request states, or Unknown.
func statedSize(request *http.Request) int64 {
	if request.Method == http.MethodHead {
		return 0
	}
	bytes, ok := strings.CutPrefix(request.Header.Get("Range"), "bytes=")
	first, last, found := strings.Cut(bytes, "-")
	if !ok || !found {
		return Unknown
	}
	to, err := strconv.ParseInt(last, 10, 64)
	if err != nil || to < 0 {
		return Unknown
	}
	if first == "" {
		return to
	}
	from, err := strconv.ParseInt(first, 10, 64)
	if err != nil || from < 0 || from > to {
		return Unknown
	}
	return to - from + 1
}
