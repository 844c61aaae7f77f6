// Command client requests from many servers at once, round after round, under a limiter, and prints the times of rounds as JSON: objects over
// HTTP (bench/limit/nginx.py), or a multiget from memcached (bench/limit/multiget.py).
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sort"
	"time"

	"github.com/fanin-sim/fanin/go/limit"
)

// client requests one round and returns its bytes.
type client interface {
	round() (int64, error)
}

func run() error {
	name := flag.String("limiter", "none", "none, gradient, fixed:N, or a limiter's settings in JSON")
	host := flag.String("host", "127.0.0.1", "address of the servers")
	first := flag.Int("first", 24000, "port of the first server")
	servers := flag.Int("servers", 64, "number of servers")
	seconds := flag.Float64("seconds", 3, "duration")
	least := flag.Int("rounds", 40, "minimum number of rounds")
	keys := flag.Int("keys", 0, "keys of a multiget from memcached; 0: an object of each server over HTTP")
	size := flag.Int("size", 2000, "bytes of a value")
	flag.Parse()
	own, shared, err := chosen(*name)
	if err != nil {
		return err
	}
	var addresses []string
	for i := 0; i < *servers; i++ {
		addresses = append(addresses, fmt.Sprintf("%s:%d", *host, *first+i))
	}
	var c client = newGetter(own, shared, addresses)
	if *keys > 0 {
		if c, err = newMultigetter(own, shared, addresses, *keys, *size); err != nil {
			return err
		}
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
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(2)
	}
}
