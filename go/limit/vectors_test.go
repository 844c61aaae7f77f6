package limit

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

type step struct {
	Request, Received, Sized, Finish, Cancel []string
	Caller                                   uint64
	Bytes                                    *uint64
	NowUs                                    uint64 `json:"now_us"`
	Expect                                   map[string]any
}

// vectors reads a file of vectors of the repository; the module alone has none.
func vectors(t *testing.T, name string, into any) {
	text, err := os.ReadFile(filepath.Join("..", "..", "vectors", name))
	if err != nil {
		t.Skipf("no vectors, since this is not the repository: %v", err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

func TestLimiterMatchesVectors(t *testing.T) {
	var file struct {
		Cases []struct {
			Name, Why string
			Settings  json.RawMessage
			Steps     []step
		}
		Refused []struct {
			Settings json.RawMessage
			Error    string
		}
	}
	vectors(t, "limit.json", &file)
	checked := 0
	for _, c := range file.Cases {
		settings, err := ParseSettings(c.Settings)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		r := replay{NewLimiter(settings), map[string]Ticket{}}
		for i, step := range c.Steps {
			found := r.step(step)
			for name, wanted := range step.Expect {
				checked++
				if !reflect.DeepEqual(found[name], wanted) {
					t.Errorf("%s, step %d: %s is %v, not %v: %s", c.Name, i+1, name, found[name], wanted, c.Why)
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d values were checked", checked)
	}
	for _, c := range file.Refused {
		if _, err := ParseSettings(c.Settings); err == nil || err.Error() != c.Error {
			t.Errorf("%s: %v, not %s", c.Settings, err, c.Error)
		}
	}
}

type replay struct {
	limiter *Limiter
	names   map[string]Ticket
}

func (r *replay) step(s step) map[string]any {
	now := s.NowUs * 1000
	admits := []any{}
	each := func(names []string, do func(name string)) {
		for _, name := range names {
			do(name)
			for ticket, ok := r.limiter.AdmitNext(now); ok; ticket, ok = r.limiter.AdmitNext(now) {
				for name, known := range r.names {
					if known == ticket {
						admits = append(admits, name)
					}
				}
			}
		}
	}
	bytes := uint64(0)
	if s.Bytes != nil {
		bytes = *s.Bytes
	}
	each(s.Request, func(name string) {
		r.names[name] = r.limiter.Request(now, s.Caller, bytes, s.Bytes != nil)
		if r.limiter.IsAdmitted(r.names[name]) {
			admits = append(admits, name)
		}
	})
	each(s.Received, func(name string) { r.limiter.Received(r.names[name], bytes) })
	each(s.Sized, func(name string) { r.limiter.Expect(r.names[name], bytes) })
	each(s.Finish, func(name string) { r.limiter.Finish(now, r.names[name], bytes) })
	each(s.Cancel, func(name string) { r.limiter.Cancel(now, r.names[name]) })
	text, _ := json.Marshal(r.limiter.Figures())
	found := map[string]any{}
	if err := json.Unmarshal(text, &found); err != nil {
		panic(err)
	}
	found["admits"] = admits
	return found
}

func TestLawsMatchVectors(t *testing.T) {
	for name, section := range map[string]string{"sw": "sliding_window", "ictcp-window": "ictcp_window"} {
		var file struct {
			Cases []struct {
				Name, Why string
				Settings  map[string]any
				Steps     []map[string]any
			}
		}
		vectors(t, section+".json", &file)
		for _, c := range file.Cases {
			capacity, ok := c.Settings["capacity"]
			if !ok {
				capacity = "1 Gbit/s"
			}
			delete(c.Settings, "capacity")
			text, _ := json.Marshal(map[string]any{"law": name, "link": capacity, section: c.Settings})
			settings, err := ParseSettings(text)
			if err != nil {
				t.Fatal(err)
			}
			law := settings.newLaw(0)
			for i, step := range c.Steps {
				number := func(key string) uint64 { n, _ := step[key].(float64); return uint64(n) }
				for times := max(number("times"), 1); times > 0; times-- {
					if _, ok := step["answered"]; ok {
						law.answered(number("now_us")*1_000_000, number("answered"), number("took_us")*1_000_000)
					} else {
						law.lost(number("lost_us") * 1_000_000)
					}
				}
				expect, _ := step["expect"].(map[string]any)
				if wanted, ok := expect["window"].(float64); ok && uint32(wanted) != law.window() {
					t.Errorf("%s, step %d: window is %d, not %v: %s", c.Name, i+1, law.window(), wanted, c.Why)
				}
			}
		}
	}
}
