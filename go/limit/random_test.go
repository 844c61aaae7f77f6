package limit

import (
	"encoding/json"
	"reflect"
	"testing"
)

// atRandom carries out the random requests and ends of vectors/limit.json.
func atRandom(settings Settings, steps int) Figures {
	l := NewLimiter(settings)
	live, random, now := []Ticket{}, uint64(1), uint64(0)
	for ; steps > 0; steps-- {
		random = random*6364136223846793005 + 1442695040888963407
		kind, size := random>>61, random>>40&0xFFFFF
		now += random >> 50 & 0xFFF
		live = append(live, l.Request(now, kind, size, kind > 1))
		if len(live) <= 64 {
			continue
		}
		at := int(random >> 33 % 64)
		if kind < 6 {
			for at = 0; !l.IsAdmitted(live[at]); at++ {
			}
		}
		ticket := live[at]
		live[at] = live[len(live)-1]
		live = live[:len(live)-1]
		switch {
		case kind < 4:
			l.Finish(now, ticket, size)
		case kind == 4:
			l.Received(ticket, size/2)
			l.Cancel(now, ticket)
		default:
			l.Cancel(now, ticket)
		}
		for _, ok := l.AdmitNext(now); ok; _, ok = l.AdmitNext(now) {
		}
	}
	for _, ticket := range live {
		l.Cancel(now, ticket)
	}
	return l.Figures()
}

func TestRandomRequestsHaveTheSameFiguresInEveryLanguage(t *testing.T) {
	var file struct {
		Random struct {
			Steps int
			Cases []struct {
				Settings json.RawMessage
				Expect   map[string]any
			}
		}
	}
	vectors(t, "limit.json", &file)
	for _, c := range file.Random.Cases {
		settings, err := ParseSettings(c.Settings)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(atRandom(settings, file.Random.Steps))
		found := map[string]any{}
		if err := json.Unmarshal(text, &found); err != nil {
			t.Fatal(err)
		}
		for name, wanted := range c.Expect {
			if !reflect.DeepEqual(found[name], wanted) {
				t.Errorf("%s: %s is %v, not %v", c.Settings, name, found[name], wanted)
			}
		}
	}
}

func TestMillionRandomEndsLeaveNoByte(t *testing.T) {
	settings := Default()
	settings.Budget = 1 << 20
	f := atRandom(settings, 1_000_000)
	if f.InFlight != 0 || f.Outstanding != 0 || f.Waiting != 0 || f.Responses < 100_000 || f.Cancelled < 100_000 {
		t.Errorf("%+v", f)
	}
}

func TestWideArithmetic(t *testing.T) {
	for _, c := range []struct {
		a, b   wide
		wanted uint64
	}{
		{wide{1, 0}, wide{0, 2}, 1 << 63},
		{wide{2, 0}, wide{0, 1}, 1<<64 - 1},
		{wide{6, 5}, wide{3, 0}, 2},
		{wide{0, 7}, wide{1, 0}, 0},
	} {
		if found := quotient(c.a, c.b); found != c.wanted {
			t.Errorf("%v / %v is %d, not %d", c.a, c.b, found, c.wanted)
		}
	}
}

func BenchmarkRequest(b *testing.B) {
	limit := New(Default())
	b.ReportAllocs()
	for i := 0; i < b.N; i++ {
		limit.TryAcquire(1000).Finish(1000)
	}
}
