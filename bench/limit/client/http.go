package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/fanin-sim/fanin/go/limit"
)

// getter gets objects over HTTP.
type getter struct {
	http.Client
	limiter limiter
	urls    []string
}

func newGetter(own limiter, shared *limit.Limit, addresses []string) *getter {
	base := &http.Transport{MaxConnsPerHost: 1, MaxIdleConns: 0, MaxIdleConnsPerHost: 1, DisableCompression: true}
	g := &getter{limiter: own}
	g.Transport = base
	if shared != nil {
		g.Transport = &limit.Transport{Limit: shared, Base: base}
	}
	for _, address := range addresses {
		g.urls = append(g.urls, "http://"+address+"/object")
	}
	return g
}

// round gets an object of every server and returns their bytes.
func (g *getter) round() (int64, error) {
	var group sync.WaitGroup
	var mutex sync.Mutex
	var total int64
	var failed error
	for _, url := range g.urls {
		group.Add(1)
		go func(url string) {
			defer group.Done()
			bytes, err := g.get(url)
			mutex.Lock()
			defer mutex.Unlock()
			total += bytes
			failed = errors.Join(failed, err)
		}(url)
	}
	group.Wait()
	return total, failed
}

func (g *getter) get(url string) (int64, error) {
	end := g.limiter.acquire()
	bytes := int64(0)
	defer func() { end(int(bytes)) }()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	response, err := g.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, errors.New(response.Status)
	}
	bytes, err = io.Copy(io.Discard, response.Body)
	return bytes, err
}
