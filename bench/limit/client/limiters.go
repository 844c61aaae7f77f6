package main

import (
	"fmt"
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
