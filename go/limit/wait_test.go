package limit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

func budget(bytes uint64) *Limit {
	settings := Default()
	settings.Law, settings.Budget = "one-all", bytes
	return New(settings)
}

func must(t *testing.T, limit *Limit, expected int64) *Grant {
	t.Helper()
	grant, err := limit.Acquire(context.Background(), expected)
	if err != nil {
		t.Fatal(err)
	}
	return grant
}

// until waits for a state, at most two minutes.
func until(t *testing.T, holds func() bool) {
	t.Helper()
	for begun := time.Now(); !holds(); time.Sleep(time.Millisecond) {
		if time.Since(begun) > 2*time.Minute {
			t.Fatal("waited for two minutes")
		}
	}
}

func holdsNothing(t *testing.T, limit *Limit) {
	t.Helper()
	if f := limit.Figures(); f.InFlight != 0 || f.Outstanding != 0 || f.Waiting != 0 {
		t.Errorf("%+v", f)
	}
}

func TestGoroutineWaitsUntilBytesHaveArrived(t *testing.T) {
	limit := budget(1000)
	first := must(t, limit, 600)
	got := make(chan *Grant)
	go func() { got <- must(t, limit, 600) }()
	until(t, func() bool { return limit.Figures().Waiting == 1 })
	if limit.TryAcquire(1) != nil {
		t.Error("a grant beside a waiting one")
	}
	first.Received(200)
	second := <-got
	first.Finish(600)
	second.Finish(600)
	second.Release()
	holdsNothing(t, limit)
	if f := limit.Figures(); f.Responses != 2 || f.Bytes != 1200 || f.Cancelled != 0 {
		t.Errorf("%+v", f)
	}
}

func TestCancelledWaitLeavesTheQueue(t *testing.T) {
	limit := budget(1000)
	held := must(t, limit, 1000)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		_, err := limit.Acquire(ctx, 1000)
		ended <- err
	}()
	until(t, func() bool { return limit.Figures().Waiting == 1 })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	held.Release()
	holdsNothing(t, limit)
	if _, err := limit.Acquire(ctx, 1); err == nil {
		t.Error("a grant for a context that is done")
	}
	holdsNothing(t, limit)
}

func TestManyGoroutinesLeaveNoByte(t *testing.T) {
	limit := budget(3000)
	var group sync.WaitGroup
	for caller := uint64(0); caller < 8; caller++ {
		group.Add(1)
		go func(limit *Limit) {
			defer group.Done()
			for round := 0; round < 200; round++ {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(round%7)*time.Millisecond)
				grant, err := limit.Acquire(ctx, int64(round%3*1000))
				if err == nil && round%2 == 0 {
					grant.Finish(500)
				} else if err == nil {
					func() {
						defer func() { _ = recover() }()
						defer grant.Release()
						panic("an error of the caller")
					}()
				}
				cancel()
			}
		}(limit.Caller(caller))
	}
	group.Wait()
	holdsNothing(t, limit)
}

func TestTransportHoldsBytesUntilTheyAreRead(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/chunked":
			for i := 0; i < 3; i++ {
				fmt.Fprint(w, strings.Repeat("x", 200))
				w.(http.Flusher).Flush()
			}
		case "/cut":
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, "x")
		default:
			fmt.Fprint(w, strings.Repeat("x", 600))
		}
	}))
	defer server.Close()
	limit := budget(1000)
	client := http.Client{Transport: &Transport{Limit: limit}}
	get := func(path string) *http.Response {
		response, err := client.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		return response
	}
	first := get("/")
	if f := limit.Figures(); f.InFlight != 600 {
		t.Errorf("%+v", f)
	}
	text, err := io.ReadAll(first.Body)
	if err != nil || len(text) != 600 {
		t.Error(err, len(text))
	}
	holdsNothing(t, limit)
	first.Body.Close()
	if text, err = io.ReadAll(get("/chunked").Body); err != nil || len(text) != 600 {
		t.Error(err, len(text))
	}
	cut := get("/cut")
	if _, err = io.ReadAll(cut.Body); err == nil {
		t.Error("a cut response has no error")
	}
	holdsNothing(t, limit)
	get("/").Body.Close()
	if response, err := client.Head(server.URL); err != nil || response.ContentLength != 600 {
		t.Error(err)
	}
	holdsNothing(t, limit)
	if f := limit.Figures(); f.Responses != 3 || f.Bytes != 1200 || f.Cancelled != 2 {
		t.Errorf("%+v", f)
	}
	failing := http.Client{Transport: &Transport{Limit: limit, Base: failure{}}}
	if _, err := failing.Get(server.URL); err == nil {
		t.Error("no error")
	}
	holdsNothing(t, limit)
}

type failure struct{}

func (failure) RoundTrip(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }

func TestStatedSizes(t *testing.T) {
	for header, wanted := range map[string]int64{
		"bytes=0-499": 500, "bytes=-500": 500, "bytes=500-": Unknown, "bytes=0-1,4-5": Unknown, "bytes=5-1": Unknown, "": Unknown,
		"bytes=--1": Unknown, "items=0-1": Unknown,
	} {
		request := httptest.NewRequest(http.MethodGet, "/", nil)
		request.Header.Set("Range", header)
		if found := statedSize(request); found != wanted {
			t.Errorf("%q: %d, not %d", header, found, wanted)
		}
	}
}

// byFirstLetter selects a server by a key's first letter; it has none for other keys.
type byFirstLetter struct{}

func (byFirstLetter) PickServer(key string) (net.Addr, error) {
	if key == "" {
		return nil, errors.New("no key")
	}
	return &net.TCPAddr{Port: int(key[0])}, nil
}

func TestMultigetRequestsFromServersUnderTheLimit(t *testing.T) {
	limit := budget(1)
	var mutex sync.Mutex
	most, now := 0, 0
	get := func(keys []string) (map[string]string, error) {
		mutex.Lock()
		now++
		most = max(most, now)
		mutex.Unlock()
		time.Sleep(time.Millisecond)
		mutex.Lock()
		now--
		mutex.Unlock()
		if keys[0][0] == 'c' {
			return nil, errors.New("server c is down")
		}
		values := map[string]string{}
		for _, key := range keys {
			values[key] = "value"
		}
		return values, nil
	}
	size := func(key, value string) int { return len(key) + len(value) }
	keys := []string{"a1", "b1", "a2", "c1", "", "d1"}
	values, err := GetMulti(context.Background(), limit, byFirstLetter{}, keys, get, size)
	if len(values) != 4 || err == nil || err.Error() != "no key\nserver c is down" {
		t.Error(values, err)
	}
	if most != 1 {
		t.Errorf("%d servers at once", most)
	}
	holdsNothing(t, limit)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if values, err = GetMulti(ctx, limit, byFirstLetter{}, keys, get, size); len(values) != 0 || !errors.Is(err, context.Canceled) {
		t.Error(values, err)
	}
}
