package limit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Unknown is the expected size of a response whose request does not state it.
const Unknown int64 = -1

// A Limit is a limiter that goroutines share.
type Limit struct {
	shared *shared
	caller uint64
}

type shared struct {
	mutex   sync.Mutex
	limiter *Limiter
	begun   time.Time
	// woken has a channel for each waiting request; it is closed when the request is admitted.
	woken map[Ticket]chan struct{}
	// closed ends the adaptation of a shared budget.
	closed atomic.Bool
}

// New makes a limit.
func New(settings Settings) *Limit {
	return &Limit{shared: &shared{limiter: NewLimiter(settings), begun: time.Now(), woken: map[Ticket]chan struct{}{}}}
}

// Caller is the same limit for another caller. Callers with waiting requests get equal shares of bytes; each number is one.
func (l *Limit) Caller(caller uint64) *Limit {
	return &Limit{shared: l.shared, caller: caller}
}

// Acquire waits until a response of this size, or of [Unknown] size, may be requested, or until the context is done. End the grant
// with [Grant.Finish] or [Grant.Release].
func (l *Limit) Acquire(ctx context.Context, expected int64) (*Grant, error) {
	s := l.shared
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mutex.Lock()
	ticket := s.limiter.Request(s.now(), l.caller, uint64(max(expected, 0)), expected >= 0)
	grant := &Grant{shared: s, ticket: ticket}
	if s.limiter.IsAdmitted(ticket) {
		s.mutex.Unlock()
		return grant, nil
	}
	woken := make(chan struct{})
	s.woken[ticket] = woken
	s.mutex.Unlock()
	select {
	case <-woken:
		return grant, nil
	case <-ctx.Done():
		grant.Release()
		return nil, ctx.Err()
	}
}

// TryAcquire is a grant without a wait, or nil.
func (l *Limit) TryAcquire(expected int64) *Grant {
	s := l.shared
	s.mutex.Lock()
	defer s.mutex.Unlock()
	ticket, ok := s.limiter.TryRequest(s.now(), uint64(max(expected, 0)), expected >= 0)
	if !ok {
		return nil
	}
	return &Grant{shared: s, ticket: ticket}
}

// Close gives back this process's part of a shared budget within 20 ms; no further request is admitted then. Without a shared budget it has
// no effect.
func (l *Limit) Close() {
	l.shared.closed.Store(true)
}

// Figures returns counters and state.
func (l *Limit) Figures() Figures {
	l.shared.mutex.Lock()
	defer l.shared.mutex.Unlock()
	return l.shared.limiter.Figures()
}

func (s *shared) now() uint64 {
	return uint64(time.Since(s.begun))
}

// change changes the limiter, and wakes those that it admits then.
func (s *shared) change(change func(limiter *Limiter, now uint64)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	now := s.now()
	change(s.limiter, now)
	for ticket, ok := s.limiter.AdmitNext(now); ok; ticket, ok = s.limiter.AdmitNext(now) {
		if woken, ok := s.woken[ticket]; ok {
			close(woken)
			delete(s.woken, ticket)
		}
	}
}

// A Grant is permission for one response, and its share of the bytes in flight. To end one twice has no effect.
type Grant struct {
	shared *shared
	ticket Ticket
}

// Expect corrects the expected size, such as by the response's header.
func (g *Grant) Expect(bytes int64) {
	g.shared.change(func(limiter *Limiter, _ uint64) { limiter.Expect(g.ticket, uint64(max(bytes, 0))) })
}

// Received records bytes that have arrived: others may use their place.
func (g *Grant) Received(bytes int64) {
	g.shared.change(func(limiter *Limiter, _ uint64) { limiter.Received(g.ticket, uint64(max(bytes, 0))) })
}

// Finish ends the request with a complete response of this size, or of the bytes that were [Grant.Received] if these are more.
func (g *Grant) Finish(bytes int64) {
	g.shared.change(func(limiter *Limiter, now uint64) { limiter.Finish(now, g.ticket, uint64(max(bytes, 0))) })
}

// Release gives back the bytes of a failed or cancelled request; it has no effect after [Grant.Finish], so that it can be deferred.
func (g *Grant) Release() {
	g.shared.change(func(limiter *Limiter, now uint64) {
		delete(g.shared.woken, g.ticket)
		limiter.Cancel(now, g.ticket)
	})
}
