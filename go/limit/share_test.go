//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package limit

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const budgetOfAll, sizeOfOne = 64_000, 1000

// ownFolder is a folder to make.
func ownFolder(t *testing.T) string { return filepath.Join(t.TempDir(), "budget") }

func sharedLimit(t *testing.T, folder string) *Limit {
	t.Helper()
	settings := Default()
	settings.Law, settings.Budget, settings.Expected = "one-all", budgetOfAll, sizeOfOne
	limit, err := NewShared(settings, folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(limit.Close)
	return limit
}

// grants waits for as many grants.
func grants(t *testing.T, limit *Limit, count int) []*Grant {
	t.Helper()
	var held []*Grant
	for len(held) < count {
		held = append(held, must(t, limit, sizeOfOne))
	}
	return held
}

// gives says whether there is a grant within 50 ms; it is given back.
func gives(limit *Limit) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	grant, err := limit.Acquire(ctx, sizeOfOne)
	if err == nil {
		grant.Release()
	}
	return err == nil
}

// TestHolder is the process of another test: it holds the whole budget.
func TestHolder(t *testing.T) {
	folder := os.Getenv("FANIN_LIMIT_FOLDER")
	if folder == "" {
		t.Skip("another test runs it as a process")
	}
	grants(t, sharedLimit(t, folder), 64)
	os.Stdout.WriteString("it holds the budget\n")
	time.Sleep(2 * time.Minute)
}

func TestKilledProcessGivesBackItsPart(t *testing.T) {
	folder := ownFolder(t)
	child := exec.Command(os.Args[0], "-test.run=^TestHolder$", "-test.v")
	child.Env = append(os.Environ(), "FANIN_LIMIT_FOLDER="+folder)
	output, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	for lines.Scan() && !strings.Contains(lines.Text(), "it holds the budget") {
	}
	own := sharedLimit(t, folder)
	if gives(own) {
		t.Error("a grant beside a process that holds every slot")
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	grants(t, own, 64)
	if got := own.Figures().InFlight; got != budgetOfAll {
		t.Errorf("%d bytes", got)
	}
}

func TestProcessesGetEqualPartsWhenBothNeedThem(t *testing.T) {
	folder := ownFolder(t)
	first, second := sharedLimit(t, folder), sharedLimit(t, folder)
	held := grants(t, first, 63)
	got := grants(t, second, 1)
	again := make(chan []*Grant)
	go func() { again <- grants(t, second, 31) }()
	until(t, func() bool { return second.Figures().Waiting > 0 })
	for _, grant := range held {
		grant.Finish(sizeOfOne)
	}
	more := <-again
	if len(got)+len(more) != 32 || first.Figures().InFlight+second.Figures().InFlight > budgetOfAll {
		t.Errorf("%d and %d bytes", first.Figures().InFlight, second.Figures().InFlight)
	}
	// A closed limit gives back its part when its responses have ended.
	second.Close()
	for _, grant := range append(got, more...) {
		grant.Finish(sizeOfOne)
	}
	grants(t, first, 64)
	if gives(second) {
		t.Error("a grant of a closed limit")
	}
}

func TestSharedBudgetRefuses(t *testing.T) {
	if _, err := NewShared(Default(), ownFolder(t)); err == nil || !strings.Contains(err.Error(), "setting `budget`") {
		t.Error(err)
	}
	settings := Default()
	settings.Budget = 1
	if _, err := NewShared(settings, "/proc/nonexistent"); err == nil {
		t.Error("a folder that cannot be made")
	}
	folder := ownFolder(t)
	for i := 0; i < 64; i++ {
		sharedLimit(t, folder)
	}
	if _, err := NewShared(settings, folder); err == nil || !strings.Contains(err.Error(), "64 processes share the budget") {
		t.Error(err)
	}
}

// The cases of the Rust crate's share.rs.
func TestTarget(t *testing.T) {
	one := func(needed, held uint8) []record { return []record{{needed, held}} }
	for _, c := range []struct {
		needed, held int
		others       []record
		want         int
	}{
		{5, 1, nil, 5}, {1, 5, nil, 5}, {64, 5, nil, 64},
		{50, 54, one(10, 10), 54}, {60, 32, one(40, 32), 60},
		{64, 64, one(64, 0), 32}, {64, 64, one(10, 0), 54}, {3, 64, one(64, 0), 3},
		{64, 64, []record{{64, 0}, {1, 1}}, 41},
	} {
		if got := target(c.needed, c.held, c.others); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// A process of another language reads and writes the same files.
func TestFilesAreThoseOfOtherLanguages(t *testing.T) {
	folder := ownFolder(t)
	held := grants(t, sharedLimit(t, folder), 3)
	for name, want := range map[string]string{"process-00": "\x03\x03", "slot-02": ""} {
		if got, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	_ = held
}
