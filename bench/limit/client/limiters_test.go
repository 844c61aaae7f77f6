package main

import (
	"math"
	"testing"
)

func TestNamedLimiters(t *testing.T) {
	for _, name := range []string{"none", "gradient", "fixed:3"} {
		if own, shared, err := chosen(name); err != nil || own == nil || shared != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, shared, err := chosen(`{"law": "one-all", "budget": "48 KiB"}`); err != nil || shared == nil || shared.Figures().Limit != 48<<10 {
		t.Error(err)
	}
	for _, name := range []string{"fixed:many", "few", `{"law": "none"}`} {
		if _, _, err := chosen(name); err == nil {
			t.Errorf("%s is no limiter", name)
		}
	}
}

func TestFixedNumberBoundsRequests(t *testing.T) {
	limiter := make(fixed, 2)
	first, _ := limiter.acquire(), limiter.acquire()
	third := make(chan struct{})
	go func() {
		limiter.acquire()
		close(third)
	}()
	if len(limiter) != 2 {
		t.Errorf("%d requests", len(limiter))
	}
	first(0)
	<-third
}

// The limit by hand: 20 requests, a mean of 10 ms, then a response of 40 ms. The mean becomes 10 + 30 * 2/601 = 10.0998 ms, which is less than
// half of 40 ms; the gradient is 1.5 * 10.0998 / 40 = 0.3787, at least 0.5; the limit 0.8 * 20 + 0.2 * (20 * 0.5 + 4) = 18.8, at least 20.
func TestGradientFollowsTimes(t *testing.T) {
	limiter := newGradient()
	for i := 0; i < 10; i++ {
		limiter.update(10e6, 1)
	}
	if limiter.long != 10e6 || limiter.limit != 20 {
		t.Errorf("%f ns, %f", limiter.long, limiter.limit)
	}
	limiter.update(40e6, 20)
	if math.Abs(limiter.long-10.09983e6) > 10 || limiter.limit != 20 {
		t.Errorf("%f ns, %f", limiter.long, limiter.limit)
	}
	// Short responses: 0.8 * 20 + 0.2 * (20 + 4) = 20.8.
	limiter.update(10e6, 20)
	if math.Abs(limiter.limit-20.8) > 1e-9 {
		t.Errorf("%f", limiter.limit)
	}
}
