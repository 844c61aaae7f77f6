package limit

import (
	"context"
	"errors"
	"net"
	"sync"
)

// A ServerSelector returns the server of a key; gomemcache's is one.
type ServerSelector interface {
	PickServer(key string) (net.Addr, error)
}

// GetMulti gets keys from their servers, a request for each server, under a limit. get requests keys of one server, such as
// gomemcache's (*Client).GetMulti or dskit's GetMulti with a context, and size returns the bytes of a value on the wire. It returns the
// values that it found, and the errors of servers.
func GetMulti[V any](
	ctx context.Context, limit *Limit, servers ServerSelector, keys []string,
	get func(keys []string) (map[string]V, error), size func(key string, value V) int,
) (map[string]V, error) {
	var (
		mutex  sync.Mutex
		group  sync.WaitGroup
		found  = make(map[string]V, len(keys))
		failed []error
	)
	batches, errs := byServer(servers, keys)
	failed = append(failed, errs...)
	for _, batch := range batches {
		// Acquired in this goroutine: it makes no more of them than have grants.
		grant, err := limit.Acquire(ctx, Unknown)
		if err != nil {
			mutex.Lock()
			failed = append(failed, err)
			mutex.Unlock()
			break
		}
		group.Add(1)
		go func(batch []string) {
			defer group.Done()
			defer grant.Release()
			values, err := get(batch)
			bytes := 0
			for key, value := range values {
				bytes += size(key, value)
			}
			if err == nil {
				grant.Finish(int64(bytes))
			}
			mutex.Lock()
			defer mutex.Unlock()
			for key, value := range values {
				found[key] = value
			}
			if err != nil {
				failed = append(failed, err)
			}
		}(batch)
	}
	group.Wait()
	return found, errors.Join(failed...)
}

// byServer divides keys by their server, in the order in which servers first appear.
func byServer(servers ServerSelector, keys []string) ([][]string, []error) {
	var batches [][]string
	var failed []error
	index := map[string]int{}
	for _, key := range keys {
		server, err := servers.PickServer(key)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		at, ok := index[server.String()]
		if !ok {
			at = len(batches)
			index[server.String()] = at
			batches = append(batches, nil)
		}
		batches[at] = append(batches[at], key)
	}
	return batches, failed
}
