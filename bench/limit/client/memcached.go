package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/fanin-sim/fanin/go/limit"
)

// multigetter gets keys from memcached, a request for each server, by gomemcache.
type multigetter struct {
	*memcache.Client
	servers *memcache.ServerList
	limiter limiter
	shared  *limit.Limit
	keys    []string
	size    int
}

func newMultigetter(own limiter, shared *limit.Limit, addresses []string, keys, size int) (*multigetter, error) {
	servers := new(memcache.ServerList)
	if err := servers.SetServers(addresses...); err != nil {
		return nil, err
	}
	m := &multigetter{Client: memcache.NewFromSelector(servers), servers: servers, limiter: own, shared: shared, size: size}
	m.Timeout = 30 * time.Second
	value := make([]byte, size)
	for i := 0; i < keys; i++ {
		key := fmt.Sprintf("key-%d", i)
		m.keys = append(m.keys, key)
		if err := m.Set(&memcache.Item{Key: key, Value: value}); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// round gets all keys and returns the bytes of their values.
func (m *multigetter) round() (int64, error) {
	if m.shared != nil {
		size := func(key string, item *memcache.Item) int {
			return len(key) + len(item.Value) + len("VALUE  0 0000\r\n\r\n")
		}
		found, err := limit.GetMulti(context.Background(), m.shared, m.servers, m.keys, m.GetMulti, size)
		return m.bytes(len(found)), err
	}
	batches := map[string][]string{}
	for _, key := range m.keys {
		server, err := m.servers.PickServer(key)
		if err != nil {
			return 0, err
		}
		batches[server.String()] = append(batches[server.String()], key)
	}
	var group sync.WaitGroup
	var mutex sync.Mutex
	var failed error
	total := 0
	for _, batch := range batches {
		group.Add(1)
		go func(batch []string) {
			defer group.Done()
			end := m.limiter.acquire()
			found, err := m.GetMulti(batch)
			end(len(found) * m.size)
			mutex.Lock()
			defer mutex.Unlock()
			total += len(found)
			failed = errors.Join(failed, err)
		}(batch)
	}
	group.Wait()
	return m.bytes(total), failed
}

func (m *multigetter) bytes(found int) int64 { return int64(found) * int64(m.size) }
