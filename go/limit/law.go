package limit

import (
	"math"
	"math/big"
	"math/bits"
)

// law is a concurrency limit over servers. Times are in picoseconds.
type law interface {
	// window is the maximum number of outstanding servers.
	window() uint32
	// late is the time after which a query is lost; false if the law does not use it.
	late() (uint64, bool)
	// answered records a complete response.
	answered(now, bytes, took uint64)
	// lost records a query without a response after late, once.
	lost(now uint64)
}

// oneAll has no limit.
type oneAll struct{}

func (oneAll) window() uint32                   { return math.MaxUint32 }
func (oneAll) late() (uint64, bool)             { return 0, false }
func (oneAll) answered(now, bytes, took uint64) {}
func (oneAll) lost(now uint64)                  {}

// slidingWindow grows with responses and halves on late ones: crates/engine/fanout/src/sliding_window.rs.
type slidingWindow struct {
	settings    SlidingWindow
	size        uint32
	towardsStep uint32
	hasHalved   bool
	halved      uint64
}

func newSlidingWindow(settings SlidingWindow) *slidingWindow {
	settings.Most = max(settings.Most, 1)
	return &slidingWindow{settings: settings, size: min(max(settings.Initial, 1), settings.Most)}
}

func (l *slidingWindow) window() uint32       { return l.size }
func (l *slidingWindow) late() (uint64, bool) { return l.settings.Late, true }

func (l *slidingWindow) answered(now, bytes, took uint64) {
	l.towardsStep++
	answers := uint32(1)
	if l.settings.PerWindow {
		answers = l.size
	}
	if l.towardsStep >= answers {
		l.towardsStep = 0
		l.size = min(uint32(min(uint64(l.size)+uint64(l.settings.Step), math.MaxUint32)), l.settings.Most)
	}
}

func (l *slidingWindow) lost(now uint64) {
	// Queries of one window are lost together.
	if l.hasHalved && since(now, l.halved) < l.settings.Late {
		return
	}
	l.hasHalved, l.halved = true, now
	l.size = max(l.size/2, 1)
	l.towardsStep = 0
}

const (
	// floor is the minimum window.
	floor = 2
	// run is the number of responses per mean; the least mean is the response time without a queue.
	run = 32
)

// ictcpWindow grows until the link is in use, and shrinks when responses wait in a queue: crates/engine/fanout/src/ictcp_window.rs.
type ictcpWindow struct {
	usable              uint64
	gamma1, gamma2      uint32
	decreaseAfter, most uint32
	size                uint32
	doubling            bool
	missed              uint32
	inSlot              bool
	slot                slot
	least               uint64
	runAnswers, runTook uint64
}

// slot has at least one response.
type slot struct {
	began, half   uint64
	bytes         [2]uint64
	answers, took uint64
}

func newIctcpWindow(settings IctcpWindow, link uint64) *ictcpWindow {
	hi, lo := bits.Mul64(link, uint64(settings.Usable.inQ(16)))
	return &ictcpWindow{
		usable:        hi<<48 | lo>>16,
		gamma1:        settings.Gamma1.inQ(16),
		gamma2:        settings.Gamma2.inQ(16),
		decreaseAfter: settings.DecreaseAfter,
		most:          max(settings.Most, floor),
		size:          max(min(settings.Initial, settings.Most), floor),
		doubling:      true,
		least:         math.MaxUint64,
	}
}

func (l *ictcpWindow) window() uint32       { return l.size }
func (l *ictcpWindow) late() (uint64, bool) { return 0, false }
func (l *ictcpWindow) lost(now uint64)      {}

func (l *ictcpWindow) answered(now, bytes, took uint64) {
	took = max(took, 1)
	l.runAnswers, l.runTook = l.runAnswers+1, addSaturating(l.runTook, took)
	if l.runAnswers == run {
		l.least = min(l.least, l.runTook/run)
		l.runAnswers, l.runTook = 0, 0
	}
	switch {
	case !l.inSlot:
		// The first slot begins with the request of the first response.
		l.inSlot, l.slot = true, slot{began: since(now, took), half: took}
	case since(now, l.slot.began) >= mulSaturating(l.slot.half, 2):
		over := l.slot
		l.turn(&over)
		l.slot = slot{began: now, half: over.took / over.answers}
	}
	half := 0
	if since(now, l.slot.began) >= l.slot.half {
		half = 1
	}
	l.slot.bytes[half] = addSaturating(l.slot.bytes[half], bytes)
	l.slot.answers++
	l.slot.took = addSaturating(l.slot.took, took)
}

// turn ends a slot.
func (l *ictcpWindow) turn(over *slot) {
	window := uint64(l.size)
	// Expected number of responses in its two halves.
	room := product(window*2, over.half)
	each := min(l.least, over.took/over.answers)
	arrived := product(over.answers, each)
	arrived = arrived.shiftLeft16()
	actual := uint32(min(quotient(arrived, room), 1<<16))
	missing := uint32(1<<16) - actual
	switch {
	case missing <= l.gamma1 || uint64(missing)*window <= 1<<16:
		l.missed = 0
		l.grow(l.quota(over))
	case missing > l.gamma2:
		l.missed++
		if l.missed >= l.decreaseAfter {
			l.size, l.missed, l.doubling = max(l.size-1, floor), 0, false
		}
	default:
		l.missed = 0
	}
}

// quota is the number of additional servers that fit the link.
func (l *ictcpWindow) quota(over *slot) uint32 {
	const psBits = 8_000_000_000_000
	inUse := quotient(product(over.bytes[0], psBits), wide{0, over.half})
	free := uint64(0)
	if inUse < l.usable {
		free = l.usable - inUse
	}
	lo, carry := bits.Add64(over.bytes[0], over.bytes[1], 0)
	if carry == 0 && lo == 0 {
		return math.MaxUint32
	}
	if carry == 0 {
		return uint32(min(quotient(product(free, over.took), product(lo, psBits)), math.MaxUint32))
	}
	needed := new(big.Int).Mul(wide{carry, lo}.big(), big.NewInt(psBits))
	return uint32(min(quotientBig(product(free, over.took).big(), needed), math.MaxUint32))
}

func (l *ictcpWindow) grow(quota uint32) {
	most := uint32(1)
	if l.doubling {
		most = l.size
	}
	l.doubling = l.doubling && quota >= l.size
	l.size = min(uint32(min(uint64(l.size)+uint64(min(quota, most)), math.MaxUint32)), l.most)
}

// wide is an unsigned number of 128 bits.
type wide struct{ hi, lo uint64 }

func product(a, b uint64) wide {
	hi, lo := bits.Mul64(a, b)
	return wide{hi, lo}
}

func (w wide) big() *big.Int {
	hi := new(big.Int).Lsh(new(big.Int).SetUint64(w.hi), 64)
	return hi.Or(hi, new(big.Int).SetUint64(w.lo))
}

// shiftLeft16 multiplies by 2^16; its caller's numbers stay below 2^112.
func (w wide) shiftLeft16() wide {
	return wide{w.hi<<16 | w.lo>>48, w.lo << 16}
}

// quotient divides, rounded down and at most 2^64-1; the divisor is above zero.
func quotient(a, b wide) uint64 {
	if b.hi == 0 {
		if a.hi >= b.lo {
			return math.MaxUint64
		}
		q, _ := bits.Div64(a.hi, a.lo, b.lo)
		return q
	}
	return quotientBig(a.big(), b.big())
}

func quotientBig(a, b *big.Int) uint64 {
	q := a.Div(a, b)
	if !q.IsUint64() {
		return math.MaxUint64
	}
	return q.Uint64()
}

func since(now, earlier uint64) uint64 {
	if now < earlier {
		return 0
	}
	return now - earlier
}

func addSaturating(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return math.MaxUint64
	}
	return sum
}

func mulSaturating(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi != 0 {
		return math.MaxUint64
	}
	return lo
}
