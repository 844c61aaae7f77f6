package limit

import "sort"

// queue has waiting requests: fair among callers by bytes, and in order within a caller.
//
// Goyal, Vin and Cheng, "Start-time Fair Queueing" (SIGCOMM 1996): a request starts at the later of the queue's virtual time and the end
// of its caller's last one, and ends its size later. Requests leave by their start. Counting begins anew when nothing waits.
type queue struct {
	// heap has requests by start and order of arrival; some may have been cancelled.
	heap        []entry
	virtualTime uint64
	arrivals    uint64
	// ends has the end of each caller's last request, by caller.
	ends []callerEnd
}

type entry struct {
	start, arrival uint64
	ticket         Ticket
}

type callerEnd struct{ caller, end uint64 }

func (e entry) before(other entry) bool {
	return e.start < other.start || e.start == other.start && e.arrival < other.arrival
}

func (q *queue) restart() {
	q.heap, q.ends, q.virtualTime = q.heap[:0], q.ends[:0], 0
}

func (q *queue) push(ticket Ticket, caller, charge uint64) {
	at := sort.Search(len(q.ends), func(i int) bool { return q.ends[i].caller >= caller })
	start := q.virtualTime
	if at == len(q.ends) || q.ends[at].caller != caller {
		q.ends = append(q.ends, callerEnd{})
		copy(q.ends[at+1:], q.ends[at:])
	} else {
		start = max(start, q.ends[at].end)
	}
	q.ends[at] = callerEnd{caller, addSaturating(start, charge)}
	q.arrivals++
	q.heap = append(q.heap, entry{start, q.arrivals, ticket})
	q.up(len(q.heap) - 1)
}

func (q *queue) first() (Ticket, bool) {
	if len(q.heap) == 0 {
		return 0, false
	}
	return q.heap[0].ticket, true
}

// serve takes the first request, which is admitted.
func (q *queue) serve() {
	q.virtualTime = q.heap[0].start
	q.pop()
}

// pop takes the first request.
func (q *queue) pop() {
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap = q.heap[:last]
	q.down(0)
}

// tidy removes entries of cancelled requests if they outnumber the live ones.
func (q *queue) tidy(live int, isLive func(Ticket) bool) {
	if len(q.heap) <= staleMax+2*live {
		return
	}
	q.heap = filter(q.heap, func(e entry) bool { return isLive(e.ticket) })
	for i := len(q.heap)/2 - 1; i >= 0; i-- {
		q.down(i)
	}
}

func (q *queue) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !q.heap[i].before(q.heap[parent]) {
			return
		}
		q.heap[i], q.heap[parent] = q.heap[parent], q.heap[i]
		i = parent
	}
}

func (q *queue) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(q.heap); child++ {
			if q.heap[child].before(q.heap[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		q.heap[i], q.heap[least] = q.heap[least], q.heap[i]
		i = least
	}
}
