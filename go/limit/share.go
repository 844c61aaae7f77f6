//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package limit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

const (
	// slots is the number of parts of a shared budget, and the maximum number of processes.
	slots = 64
	// adjustEvery is the time after which a process with waiting requests adapts its part.
	adjustEvery = 5 * time.Millisecond
)

// NewShared makes a limit whose budget all processes of the host share that use this folder, such as one in /dev/shm, at most 64, with the
// same settings, which must have a budget. Nobody else may open the folder, except members of [Settings].Group. They may be in any of fanin-limit's languages. A process that ends, or is killed, gives back its
// part at once; [Limit.Close] does it earlier.
func NewShared(settings Settings, folder string) (*Limit, error) {
	if settings.Budget == 0 {
		return nil, errors.New("a shared budget needs the setting `budget`; write a size such as \"1 MiB\"")
	}
	own, err := join(folder, settings)
	if err != nil {
		return nil, err
	}
	limit := New(settings)
	if _, err := own.adjust(limit.shared); err != nil {
		own.leave()
		return nil, err
	}
	go own.adapt(limit.shared)
	return limit, nil
}

// part is a process's membership: a file of its own, which it locks, and the slots that it holds, each by a lock on a file. The kernel
// releases the locks when the process ends. The Rust crate's share.rs has the same files.
type part struct {
	folder  *folder
	budget  uint64
	own     *os.File
	index   int
	written record
	held    []*os.File
}

// record is the content of a process's file: slots that it needs, and slots that it holds.
type record struct{ needed, held uint8 }

func join(path string, settings Settings) (*part, error) {
	folder, err := openFolder(path, settings)
	if err != nil {
		return nil, err
	}
	own, index, err := folder.enter()
	if err != nil {
		folder.file.Close()
		return nil, err
	}
	return &part{folder: folder, budget: settings.Budget, own: own, index: index}, nil
}

// enter locks a file for this process; it returns its number, too.
func (f *folder) enter() (*os.File, int, error) {
	var names []string
	for index := 0; index < slots; index++ {
		names = append(names, name("process", index), name("slot", index))
	}
	if err := f.replaceDistrusted(names); err != nil {
		return nil, 0, err
	}
	for index := 0; index < slots; index++ {
		own, err := f.locked("process", index)
		if own != nil || err != nil {
			return own, index, err
		}
	}
	return nil, 0, fmt.Errorf("%s: %d processes share the budget, which is the maximum; use another folder", f.path, slots)
}

func (p *part) leave() {
	for _, file := range append(p.held, p.own, p.folder.file) {
		file.Close()
	}
}

// adapt adapts the part until the limit is closed.
func (p *part) adapt(limit *shared) {
	for !limit.closed.Load() {
		// A process without its files keeps its part.
		waiting, _ := p.adjust(limit)
		if waiting {
			time.Sleep(adjustEvery)
		} else {
			time.Sleep(4 * adjustEvery)
		}
	}
	limit.change(func(limiter *Limiter, _ uint64) { limiter.SetBudget(0) })
	p.leave()
}

// adjust adapts this process's part to its requests; returns whether some wait.
func (p *part) adjust(limit *shared) (bool, error) {
	limit.mutex.Lock()
	figures := limit.limiter.Figures()
	limit.mutex.Unlock()
	wanted := addSaturating(figures.InFlight, mulSaturating(uint64(figures.Waiting), max(figures.Mean, 1)))
	own, err := p.adjustTo(wanted, figures.InFlight)
	if err == nil {
		limit.change(func(limiter *Limiter, _ uint64) { limiter.SetBudget(own) })
	}
	return figures.Waiting > 0, err
}

func (p *part) slotBytes() uint64 {
	return max(p.budget/slots, 1)
}

// adjustTo takes or gives back slots so that these bytes fit, or this process's share of them. Bytes in flight keep their slots. It returns
// the budget of this process.
func (p *part) adjustTo(wanted, inFlight uint64) (uint64, error) {
	count := func(bytes uint64) int {
		slot := p.slotBytes()
		return int(min(max(bytes/slot+min(bytes%slot, 1), 1), slots))
	}
	needed, used := count(wanted), count(inFlight)
	if err := p.folder.check(); err != nil {
		return 0, err
	}
	others, err := p.others()
	if err != nil {
		return 0, err
	}
	wants := target(needed, len(p.held), others)
	for index := 0; len(p.held) < wants && index < slots; index++ {
		file, err := p.folder.locked("slot", index)
		if err != nil {
			return 0, err
		}
		if file != nil {
			p.held = append(p.held, file)
		}
	}
	for keep := max(wants, used); len(p.held) > keep; p.held = p.held[:len(p.held)-1] {
		// The lock ends with its file.
		p.held[len(p.held)-1].Close()
	}
	now := record{uint8(needed), uint8(len(p.held))}
	if p.written != now {
		if _, err := p.own.WriteAt([]byte{now.needed, now.held}, 0); err != nil {
			return 0, err
		}
		p.written = now
	}
	permitted := min(len(p.held), wants)
	if permitted == slots {
		return p.budget, nil
	}
	return uint64(permitted) * p.slotBytes(), nil
}

// others returns the records of other processes. The files of processes are created in order.
func (p *part) others() ([]record, error) {
	var found []record
	for index := 0; index < slots; index++ {
		if index == p.index {
			continue
		}
		file, err := p.folder.open(name("process", index))
		if err != nil {
			return nil, err
		}
		if file == nil {
			break
		}
		other, lives, err := read(file)
		file.Close()
		if err != nil {
			return nil, err
		}
		if lives {
			found = append(found, other)
		}
	}
	return found, nil
}

// read returns the record of a process, and whether the process lives.
func read(file *os.File) (record, bool, error) {
	mine, err := lock(file)
	if err != nil || mine {
		return record{}, false, err
	}
	bytes := []byte{1, 0}
	if _, err := file.ReadAt(bytes, 0); err != nil && !errors.Is(err, io.EOF) {
		return record{}, false, err
	}
	return record{min(max(bytes[0], 1), slots), min(bytes[1], slots)}, true, nil
}

// target is the number of slots that a process should hold.
func target(needed, held int, others []record) int {
	fair := max(slots/(len(others)+1), 1)
	lacks, unused := false, 0
	for _, other := range others {
		lacks = lacks || int(other.held) < min(int(other.needed), fair)
		unused += fair - min(int(other.needed), fair)
	}
	if !lacks {
		return max(needed, held)
	}
	// Each may be up to fair, so that the sum is at most all slots.
	return max(min(needed, fair+unused), 1)
}

func name(kind string, index int) string {
	return fmt.Sprintf("%s-%02d", kind, index)
}

// locked opens a file and locks it; it returns nil if another process has it.
func (f *folder) locked(kind string, index int) (*os.File, error) {
	file, err := f.create(name(kind, index))
	if err != nil {
		return nil, err
	}
	mine, err := lock(file)
	if err != nil || !mine {
		file.Close()
		return nil, err
	}
	return file, nil
}

// lock locks a file, if no other process has.
func lock(file *os.File) (bool, error) {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
