package limit

import (
	"math"
	"math/bits"
)

const (
	// meanShift makes a response 1/2^5 of the mean size.
	meanShift = 5
	// meanBits is the number of fractional bits of the mean size.
	meanBits = 8
	// clockMax is the age at which the algorithm's clock starts anew: 106 days, half of the range of picoseconds in 64 bits.
	clockMax = (1 << 63) / 1000
	// staleMax is the number of entries of finished requests that a queue may hold, beyond as many as are live.
	staleMax = 64
)

// A Ticket names a request. One of a request that has ended names nothing, even when its slot is in use again. Zero names nothing.
type Ticket uint64

func (t Ticket) index() int         { return int(uint32(t)) }
func (t Ticket) generation() uint32 { return uint32(t >> 32) }

type state uint8

const (
	free state = iota
	waiting
	admitted
)

// request is a slot with a request that has not ended, or a free one.
type request struct {
	generation uint32
	state      state
	charge     uint64
	received   uint64
	// since is the time of the request while it waits, then of its admission.
	since uint64
}

// Figures are counters since the start, and the state now.
type Figures struct {
	// InFlight is the number of bytes that are expected and have not arrived.
	InFlight uint64 `json:"in_flight"`
	// Outstanding is the number of requests without their complete response.
	Outstanding uint32 `json:"outstanding"`
	// Waiting is the number of requests that wait for admission.
	Waiting uint32 `json:"waiting"`
	// Limit is the maximum number of bytes in flight, now.
	Limit uint64 `json:"limit"`
	// Window is the algorithm's window, in mean responses.
	Window uint32 `json:"window"`
	// Mean is the mean size of a response.
	Mean uint64 `json:"mean"`
	// Admitted is the number of requests that were admitted, and Waited of those that had to wait, for WaitedNs nanoseconds in all.
	Admitted uint64 `json:"admitted"`
	Waited   uint64 `json:"waited"`
	WaitedNs uint64 `json:"waited_ns"`
	// WaitedBytes is their expected bytes: without the limit these would have been in flight beyond it, and at most as many would have
	// been lost.
	WaitedBytes uint64 `json:"waited_bytes"`
	// Responses is the number of complete responses, and Bytes their bytes.
	Responses uint64 `json:"responses"`
	Bytes     uint64 `json:"bytes"`
	// Cancelled is the number of requests that failed, or were cancelled before or after admission.
	Cancelled uint64 `json:"cancelled"`
	// Late is the number of admitted requests whose response was late, if the algorithm uses that.
	Late uint64 `json:"late"`
}

// A Limiter is the arithmetic of a [Limit], without waits and clock. Every time is in nanoseconds since any moment that the caller
// chooses; a time before an earlier call's counts as that one. It is not safe for concurrent use.
type Limiter struct {
	settings Settings
	// budget is the maximum number of bytes on their way.
	budget uint64
	law    law
	// epoch is the time of the algorithm's zero.
	epoch, now uint64
	requests   []request
	freed      []uint32
	queue      queue
	// byAge has admitted requests by age, for an algorithm that uses late ones; some may have ended.
	byAge    []Ticket
	inFlight uint64
	// mean is the mean size in units of 1/2^8 bytes, if there is one.
	hasMean bool
	mean    uint64
	figures Figures
}

// NewLimiter makes a limiter without requests.
func NewLimiter(settings Settings) *Limiter {
	budget := settings.Budget
	if budget == 0 {
		budget = math.MaxUint64
	}
	return &Limiter{settings: settings, budget: budget, law: settings.newLaw(0)}
}

// Request records a request of a caller for a response of this size, if the request states one (known), and returns its ticket. The
// request may be sent if it is [Limiter.IsAdmitted], else when [Limiter.AdmitNext] returns its ticket.
//
// Callers with waiting requests are served in proportion to bytes, and the requests of one caller in order.
func (l *Limiter) Request(now, caller, expected uint64, known bool) Ticket {
	l.advance(now)
	charge := l.chargeOf(expected, known)
	ticket := l.take(charge)
	isFirst := l.figures.Waiting == 1
	if isFirst && l.fits(charge) {
		l.admit(ticket)
		return ticket
	}
	if isFirst {
		l.queue.restart()
	}
	l.queue.push(ticket, caller, charge)
	return ticket
}

// TryRequest records a request that would not have to wait.
func (l *Limiter) TryRequest(now, expected uint64, known bool) (Ticket, bool) {
	l.advance(now)
	hasMean, mean := l.hasMean, l.mean
	charge := l.chargeOf(expected, known)
	if l.figures.Waiting > 0 || !l.fits(charge) {
		l.hasMean, l.mean = hasMean, mean
		return 0, false
	}
	ticket := l.take(charge)
	l.admit(ticket)
	return ticket, true
}

// AdmitNext returns the next waiting request that may be sent now. Call it until there is none after each call that gives bytes back.
func (l *Limiter) AdmitNext(now uint64) (Ticket, bool) {
	l.advance(now)
	for {
		ticket, ok := l.queue.first()
		if !ok {
			return 0, false
		}
		r := l.get(ticket)
		if r == nil || r.state != waiting {
			// It was cancelled.
			l.queue.pop()
			continue
		}
		if !l.fits(r.charge) {
			return 0, false
		}
		l.queue.serve()
		l.figures.Waited++
		l.figures.WaitedNs += l.now - r.since
		l.figures.WaitedBytes = addSaturating(l.figures.WaitedBytes, r.charge)
		l.admit(ticket)
		return ticket, true
	}
}

// IsAdmitted returns whether a request was admitted and has not ended.
func (l *Limiter) IsAdmitted(ticket Ticket) bool {
	r := l.get(ticket)
	return r != nil && r.state == admitted
}

// Expect corrects the expected size of a request's response, such as by its header.
func (l *Limiter) Expect(ticket Ticket, bytes uint64) {
	if r := l.get(ticket); r != nil {
		l.charge(r, since(bytes, r.received))
	}
}

// Received records a part of a response: its bytes are no longer on their way.
func (l *Limiter) Received(ticket Ticket, bytes uint64) {
	r := l.get(ticket)
	if r == nil || r.state != admitted {
		return
	}
	r.received = addSaturating(r.received, bytes)
	l.charge(r, since(r.charge, bytes))
}

// Finish records a complete response. bytes is its size, or fewer if all were recorded as they arrived.
func (l *Limiter) Finish(now uint64, ticket Ticket, bytes uint64) {
	l.advance(now)
	r := l.get(ticket)
	if r == nil || r.state != admitted {
		return
	}
	bytes, took := max(bytes, r.received), l.now-r.since
	l.giveBack(ticket, r)
	if l.figures.Responses == 0 {
		l.hasMean = false
	}
	l.learn(bytes)
	l.figures.Responses++
	l.figures.Bytes = addSaturating(l.figures.Bytes, bytes)
	l.law.answered(l.lawTime(l.now), min(bytes, sizeMax), mulSaturating(took, 1000))
}

// Cancel ends a request whose response will not come: it failed, or its caller gave up. Ending one twice has no effect.
func (l *Limiter) Cancel(now uint64, ticket Ticket) {
	l.advance(now)
	if r := l.get(ticket); r != nil {
		l.figures.Cancelled++
		l.giveBack(ticket, r)
	}
}

// Figures returns counters and state.
func (l *Limiter) Figures() Figures {
	f := l.figures
	f.InFlight, f.Limit, f.Window, f.Mean = l.inFlight, min(l.permitted(), l.budget), l.law.window(), l.meanSize()
	return f
}

func (l *Limiter) meanSize() uint64 {
	if !l.hasMean {
		return l.settings.Expected
	}
	return l.mean >> meanBits
}

// fits returns whether charge more bytes may be on their way. One response may always be. The budget is exact; the algorithm's limit is
// rounded to the nearest response, or sizes just above the mean would get a place less than it permits.
func (l *Limiter) fits(charge uint64) bool {
	whole, over := bits.Add64(l.inFlight, charge, 0)
	half, overHalf := bits.Add64(l.inFlight, charge-charge/2, 0)
	return l.inFlight == 0 && l.budget > 0 || over == 0 && whole <= l.budget && overHalf == 0 && half <= l.permitted()
}

// SetBudget replaces the budget; with a budget of zero, nothing is admitted.
func (l *Limiter) SetBudget(bytes uint64) {
	l.budget = bytes
}

// permitted is the number of bytes that the algorithm permits.
func (l *Limiter) permitted() uint64 {
	if l.law.window() == math.MaxUint32 {
		return math.MaxUint64
	}
	return mulSaturating(uint64(l.law.window()), max(l.meanSize(), 1))
}

// take makes a waiting request.
func (l *Limiter) take(charge uint64) Ticket {
	var index uint32
	if n := len(l.freed); n > 0 {
		index, l.freed = l.freed[n-1], l.freed[:n-1]
	} else {
		index = uint32(len(l.requests))
		l.requests = append(l.requests, request{})
	}
	r := &l.requests[index]
	*r = request{generation: r.generation + 1, state: waiting, charge: charge, since: l.now}
	l.figures.Waiting++
	return Ticket(uint64(r.generation)<<32 | uint64(index))
}

func (l *Limiter) get(ticket Ticket) *request {
	if ticket.index() >= len(l.requests) {
		return nil
	}
	r := &l.requests[ticket.index()]
	if r.state == free || r.generation != ticket.generation() {
		return nil
	}
	return r
}

func (l *Limiter) admit(ticket Ticket) {
	r := l.get(ticket)
	r.state, r.since = admitted, l.now
	l.figures.Waiting--
	l.figures.Outstanding++
	l.figures.Admitted++
	l.inFlight = addSaturating(l.inFlight, r.charge)
	if _, ok := l.law.late(); ok {
		if len(l.byAge) > staleMax+2*int(l.figures.Outstanding) {
			l.byAge = filter(l.byAge, func(ticket Ticket) bool { return l.get(ticket) != nil })
		}
		l.byAge = append(l.byAge, ticket)
	}
}

// charge changes a request's charge. An outstanding one has at least one byte, so that nothing in flight means that nothing is
// outstanding.
func (l *Limiter) charge(r *request, bytes uint64) {
	if r.state == waiting {
		r.charge = max(bytes, 1)
		return
	}
	others := l.inFlight - r.charge
	r.charge = min(max(bytes, 1), math.MaxUint64-others)
	l.inFlight = others + r.charge
}

func (l *Limiter) giveBack(ticket Ticket, r *request) {
	was := *r
	r.state = free
	r.generation++
	l.freed = append(l.freed, uint32(ticket.index()))
	if was.state == admitted {
		l.inFlight -= was.charge
		l.figures.Outstanding--
		return
	}
	l.figures.Waiting--
	l.queue.tidy(int(l.figures.Waiting), func(ticket Ticket) bool {
		r := l.get(ticket)
		return r != nil && r.state == waiting
	})
}

// chargeOf returns the bytes that a new request counts as. Until the first response, stated sizes make the mean.
func (l *Limiter) chargeOf(expected uint64, known bool) uint64 {
	if known && l.figures.Responses == 0 {
		l.learn(expected)
	}
	if !known {
		expected = l.meanSize()
	}
	return max(expected, 1)
}

func (l *Limiter) learn(bytes uint64) {
	size := min(bytes, sizeMax) << meanBits
	if !l.hasMean {
		l.hasMean, l.mean = true, size
		return
	}
	l.mean = l.mean - l.mean>>meanShift + size>>meanShift
}

func (l *Limiter) advance(now uint64) {
	l.now = max(l.now, now)
	if l.now-l.epoch > clockMax {
		l.epoch = l.now
		l.law = l.settings.newLaw(l.law.window())
	}
	l.reportLate()
}

// reportLate reports late requests to the algorithm, each once, at the times at which they became late.
func (l *Limiter) reportLate() {
	late, ok := l.law.late()
	for ok && len(l.byAge) > 0 {
		if r := l.get(l.byAge[0]); r != nil {
			due := addSaturating(r.since, late/1000)
			if due > l.now {
				return
			}
			l.figures.Late++
			l.law.lost(l.lawTime(due))
		}
		l.byAge = l.byAge[1:]
	}
}

func (l *Limiter) lawTime(at uint64) uint64 {
	return mulSaturating(since(at, l.epoch), 1000)
}

func filter[T any](all []T, keep func(T) bool) []T {
	kept := all[:0]
	for _, one := range all {
		if keep(one) {
			kept = append(kept, one)
		}
	}
	return kept
}
