// Command incast gets an object from each of many HTTP servers at once, round after round, under a limiter, and prints the times of rounds as
// JSON: the client of bench/limit/nginx.py.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fanin-sim/fanin/go/limit"
)

// limiter lets a request go; the function that it returns takes the response's bytes at its end.
type limiter interface {
	acquire() func(bytes int)
}

// none has no limit.
type none struct{}

func (none) acquire() func(int) { return func(int) {} }

// fixed is a number of requests.
type fixed chan struct{}

func (f fixed) acquire() func(int) {
	f <- struct{}{}
	return func(int) { <-f }
}

// gradient is Gradient2Limit of Netflix's concurrency-limits with its default settings, as its Java source computes it: the limit shrinks when
// a response takes longer than the long-term mean.
type gradient struct {
	mutex    sync.Mutex
	free     sync.Cond
	limit    float64
	inFlight int
	long     float64
	samples  int
}

func newGradient() *gradient {
	g := &gradient{limit: 20}
	g.free.L = &g.mutex
	return g
}

func (g *gradient) acquire() func(int) {
	g.mutex.Lock()
	for g.inFlight >= int(g.limit) {
		g.free.Wait()
	}
	g.inFlight++
	inFlight, begun := g.inFlight, time.Now()
	g.mutex.Unlock()
	return func(int) {
		g.mutex.Lock()
		g.update(float64(time.Since(begun)), inFlight)
		g.inFlight--
		g.mutex.Unlock()
		g.free.Broadcast()
	}
}

func (g *gradient) update(short float64, inFlight int) {
	const window, warmUp, tolerance, queue, smoothing, least, most = 600, 10, 1.5, 4, 0.2, 20, 200
	g.samples++
	if g.samples <= warmUp {
		g.long += (short - g.long) / float64(g.samples)
	} else {
		g.long += (short - g.long) * 2 / (window + 1)
	}
	if g.long/short > 2 {
		g.long *= 0.95
	}
	if float64(inFlight) < g.limit/2 {
		return
	}
	slope := max(0.5, min(1, tolerance*g.long/short))
	next := g.limit*(1-smoothing) + (g.limit*slope+queue)*smoothing
	g.limit = max(least, min(most, next))
}

func chosen(name string) (limiter, *limit.Limit, error) {
	if name == "none" {
		return none{}, nil, nil
	}
	if name == "gradient" {
		return newGradient(), nil, nil
	}
	if number, ok := strings.CutPrefix(name, "fixed:"); ok {
		count, err := strconv.Atoi(number)
		return make(fixed, max(count, 1)), nil, err
	}
	settings, err := limit.ParseSettings([]byte(name))
	if err != nil {
		return nil, nil, fmt.Errorf("-limiter: %w; use none, gradient, fixed:N or settings in JSON", err)
	}
	return none{}, limit.New(settings), nil
}

type client struct {
	http.Client
	limiter limiter
	urls    []string
}

// round gets an object of every server and returns their bytes.
func (c *client) round() (int64, error) {
	var group sync.WaitGroup
	var mutex sync.Mutex
	var total int64
	var failed error
	for _, url := range c.urls {
		group.Add(1)
		go func(url string) {
			defer group.Done()
			bytes, err := c.get(url)
			mutex.Lock()
			defer mutex.Unlock()
			total += bytes
			failed = errors.Join(failed, err)
		}(url)
	}
	group.Wait()
	return total, failed
}

func (c *client) get(url string) (int64, error) {
	end := c.limiter.acquire()
	bytes := int64(0)
	defer func() { end(int(bytes)) }()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	response, err := c.Do(request)
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

func run() error {
	name := flag.String("limiter", "none", "none, gradient, fixed:N, or a limiter's settings in JSON")
	host := flag.String("host", "127.0.0.1", "address of the servers")
	first := flag.Int("first", 24000, "port of the first server")
	servers := flag.Int("servers", 64, "number of servers")
	seconds := flag.Float64("seconds", 3, "duration")
	least := flag.Int("rounds", 40, "minimum number of rounds")
	flag.Parse()
	limiter, shared, err := chosen(*name)
	if err != nil {
		return err
	}
	base := &http.Transport{MaxConnsPerHost: 1, MaxIdleConns: 0, MaxIdleConnsPerHost: 1, DisableCompression: true}
	c := client{limiter: limiter}
	c.Transport = base
	if shared != nil {
		c.Transport = &limit.Transport{Limit: shared, Base: base}
	}
	for i := 0; i < *servers; i++ {
		c.urls = append(c.urls, fmt.Sprintf("http://%s:%d/object", *host, *first+i))
	}
	// Connections are opened, and limiters have learnt, before the first round that counts.
	for i := 0; i < 5; i++ {
		if _, err := c.round(); err != nil {
			return err
		}
	}
	var times []float64
	var bytes int64
	for begun := time.Now(); time.Since(begun).Seconds() < *seconds || len(times) < *least; {
		at := time.Now()
		got, err := c.round()
		if err != nil {
			return err
		}
		bytes += got
		times = append(times, time.Since(at).Seconds()*1e3)
	}
	return print(times, bytes, shared)
}

func print(times []float64, bytes int64, shared *limit.Limit) error {
	total := 0.0
	for _, ms := range times {
		total += ms
	}
	sort.Float64s(times)
	result := map[string]any{
		"rounds": len(times), "p50_ms": times[len(times)/2], "p99_ms": times[len(times)*99/100],
		"goodput_mbps": float64(bytes) * 8 / total / 1e3,
	}
	if shared != nil {
		result["figures"] = shared.Figures()
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "incast:", err)
		os.Exit(2)
	}
}
