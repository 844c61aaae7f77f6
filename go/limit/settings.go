package limit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strconv"
	"strings"
)

// sizeMax is the largest size that a setting may have, and that counts towards the mean size: 256 TiB.
const sizeMax = 1 << 48

// Settings are the settings of a limiter. Make them by [Default], [ParseSettings] or [ReadSettings].
type Settings struct {
	// Law is the concurrency limit: "one-all", "sw" or "ictcp-window".
	Law string
	// Link is the rate of the host's link in bit/s, which ictcp-window fills.
	Link uint64
	// Budget is the maximum number of bytes on their way, whatever the algorithm permits; zero for none.
	Budget uint64
	// Expected is the assumed size of a response while no response has ended and no request has stated a size.
	Expected uint64
	// Group is the number of the group whose members may share the budget, if HasGroup; else only processes of one user share it.
	Group    uint32
	HasGroup bool
	// SlidingWindow and IctcpWindow are the settings of the algorithms, as in fanin's scenarios.
	SlidingWindow SlidingWindow
	IctcpWindow   IctcpWindow
}

// SlidingWindow has the settings of "sw".
type SlidingWindow struct {
	// Initial, Step and Most are numbers of mean responses.
	Initial, Step, Most uint32
	// PerWindow makes the window grow per window of responses, not per response.
	PerWindow bool
	// Late is the time in picoseconds after which a response is late.
	Late uint64
}

// IctcpWindow has the settings of "ictcp-window".
type IctcpWindow struct {
	// Initial and Most are numbers of mean responses.
	Initial, Most uint32
	// Usable is the share of the link that responses may use.
	Usable Share
	// The window grows while at most Gamma1 of the expected throughput is missing, and shrinks when more than Gamma2 is.
	Gamma1, Gamma2 Share
	// DecreaseAfter is the number of consecutive slots in which it must be missing.
	DecreaseAfter uint32
}

// Share is a share of a whole, as a fraction.
type Share struct{ Numerator, Denominator uint32 }

// inQ is the share in units of 1/2^bits, rounded to nearest and saturated to 32 bits.
func (s Share) inQ(bits uint) uint32 {
	n, d := uint64(s.Numerator), uint64(s.Denominator)
	return uint32(min(((n<<bits)+d/2)/d, 1<<32-1))
}

// Default returns the default settings.
func Default() Settings {
	return Settings{
		Law: "ictcp-window", Link: 10_000_000_000, Expected: 64 << 10,
		SlidingWindow: SlidingWindow{Initial: 10, Step: 1, Most: 1_000_000, Late: 5_000_000_000},
		IctcpWindow: IctcpWindow{
			Initial: 2, Most: 1_000_000, Usable: Share{9, 10}, Gamma1: Share{1, 10}, Gamma2: Share{1, 2}, DecreaseAfter: 3,
		},
	}
}

// newLaw starts the algorithm, with this initial window if it is above zero.
func (s Settings) newLaw(initial uint32) law {
	switch s.Law {
	case "one-all":
		return oneAll{}
	case "sw":
		if initial > 0 {
			s.SlidingWindow.Initial = initial
		}
		return newSlidingWindow(s.SlidingWindow)
	default:
		if initial > 0 {
			s.IctcpWindow.Initial = initial
		}
		return newIctcpWindow(s.IctcpWindow, s.Link)
	}
}

// ReadSettings reads settings from a JSON file, such as fanin advise writes.
func ReadSettings(path string) (Settings, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Settings{}, err
	}
	settings, err := ParseSettings(text)
	if err != nil {
		return Settings{}, fmt.Errorf("%s: %w", path, err)
	}
	return settings, nil
}

// ParseSettings reads settings from JSON. A key that is absent has its default. An error names the key, the problem and the solution.
func ParseSettings(text []byte) (Settings, error) {
	settings := Default()
	object, err := fields(text)
	if err != nil {
		return settings, fmt.Errorf("invalid JSON: %w", err)
	}
	if object == nil {
		return settings, errors.New(`the settings are not an object; write {"law": "ictcp-window", "link": "10 Gbit/s"}`)
	}
	for _, key := range sortedKeys(object) {
		if err := settings.set(key, object[key]); err != nil {
			return settings, err
		}
	}
	return settings, nil
}

func (s *Settings) set(key string, value json.RawMessage) error {
	var err error
	switch key {
	case "law":
		s.Law, err = lawNamed(value)
	case "link":
		s.Link, err = link(value)
	case "budget":
		s.Budget, err = size("budget", value)
	case "expected":
		s.Expected, err = size("expected", value)
	case "group":
		s.Group, err = group(value)
		s.HasGroup = true
	case "sliding_window":
		err = section(key, s.SlidingWindow.keys(), value)
	case "ictcp_window":
		if err = section(key, s.IctcpWindow.keys(), value); err == nil {
			err = s.IctcpWindow.refuses()
		}
	default:
		err = fmt.Errorf("`%s`: unknown key; use one of law, link, budget, expected, group, sliding_window, ictcp_window", key)
	}
	return err
}

func group(value json.RawMessage) (uint32, error) {
	number, err := strconv.ParseUint(string(value), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("`group`: %s: it is not the number of a group; write one such as 990 (`getent group NAME` prints it)", value)
	}
	return uint32(number), nil
}

func (w IctcpWindow) refuses() error {
	if w.Gamma1.inQ(32) <= w.Gamma2.inQ(32) {
		return nil
	}
	return errors.New("ICTCP's gamma1 is above gamma2, so the window would grow and shrink; use a gamma1 of at most gamma2")
}

// key is a key of an algorithm's section.
type key struct {
	name string
	set  func(path, text, shown string) error
}

func (w *SlidingWindow) keys() []key {
	grows := func(path, text, shown string) error {
		if text != "answer" && text != "window" {
			return fmt.Errorf("`%s`: %s: use \"answer\" or \"window\"", path, shown)
		}
		w.PerWindow = text == "window"
		return nil
	}
	late := func(path, text, shown string) error {
		ps, why := quantity(text, times)
		switch {
		case why != "":
			return fmt.Errorf("`%s`: %s: %s; write a time such as \"5 ms\"", path, shown, why)
		case ps < 1_000_000:
			return fmt.Errorf("`%s`: %s: it is below 1 us", path, shown)
		case ps > 100_000_000_000_000:
			return fmt.Errorf("`%s`: %s: it is above 100 s", path, shown)
		}
		w.Late = ps
		return nil
	}
	return []key{
		{"initial", count(&w.Initial, 1, 1_000_000)}, {"grows", grows}, {"step", count(&w.Step, 1, 1_000_000)},
		{"most", count(&w.Most, 1, 1_000_000)}, {"late", late},
	}
}

func (w *IctcpWindow) keys() []key {
	return []key{
		{"initial", count(&w.Initial, 2, 1_000_000)}, {"most", count(&w.Most, 2, 1_000_000)},
		{"usable", share(&w.Usable, Share{1, 1024})}, {"gamma1", share(&w.Gamma1, Share{0, 1})},
		{"gamma2", share(&w.Gamma2, Share{0, 1})}, {"decrease_after", count(&w.DecreaseAfter, 1, 1_000)},
	}
}

func count(into *uint32, least, most uint32) func(path, text, shown string) error {
	return func(path, text, shown string) error {
		number, err := strconv.ParseUint(text, 10, 32)
		switch {
		case err != nil:
			return fmt.Errorf("`%s`: %s: it is no whole number below 2^32; write one such as 100", path, shown)
		case uint32(number) < least:
			return fmt.Errorf("`%s`: %s: it is below %d", path, shown, least)
		case uint32(number) > most:
			return fmt.Errorf("`%s`: %s: it is above %d", path, shown, most)
		}
		*into = uint32(number)
		return nil
	}
}

func share(into *Share, least Share) func(path, text, shown string) error {
	return func(path, text, shown string) error {
		found, why := parseShare(text)
		switch {
		case why != "":
			return fmt.Errorf("`%s`: %s: %s; write a share such as 0.9", path, shown, why)
		case found.inQ(31) < least.inQ(31):
			return fmt.Errorf("`%s`: %s: it is below %d/%d", path, shown, least.Numerator, least.Denominator)
		}
		*into = found
		return nil
	}
}

// section sets the keys of an algorithm's section.
func section(name string, keys []key, value json.RawMessage) error {
	object, err := fields(value)
	if string(value) == "null" {
		return nil
	}
	if err != nil || object == nil {
		return fmt.Errorf("`%s`: it is no object; write {\"most\": 100}", name)
	}
	for _, given := range sortedKeys(object) {
		path, known := name+"."+given, []string{}
		var set func(path, text, shown string) error
		for _, key := range keys {
			known = append(known, key.name)
			if key.name == given {
				set = key.set
			}
		}
		if set == nil {
			return fmt.Errorf("`%s`: unknown key; use one of %s", path, strings.Join(known, ", "))
		}
		shown := string(object[given])
		if err := set(path, asText(object[given]), shown); err != nil {
			return err
		}
	}
	return nil
}

func lawNamed(value json.RawMessage) (string, error) {
	switch name := asText(value); name {
	case "one-all", "baseline":
		return "one-all", nil
	case "sw", "tsw", "sliding-window":
		return "sw", nil
	case "ictcp-window":
		return name, nil
	}
	return "", fmt.Errorf("`law`: %s is no concurrency limit; use one of one-all, sw, ictcp-window", value)
}

func link(value json.RawMessage) (uint64, error) {
	wrong := func(why string) error {
		return fmt.Errorf("`link`: %s: %s; write a rate above zero such as \"10 Gbit/s\"", value, why)
	}
	if !isText(value) {
		return 0, wrong("it is no text")
	}
	rate, why := quantity(asText(value), rates)
	if why != "" {
		return 0, wrong(why)
	}
	if rate == 0 {
		return 0, wrong("it is zero")
	}
	return rate, nil
}

func size(key string, value json.RawMessage) (uint64, error) {
	wrong := func(why string) error {
		return fmt.Errorf("`%s`: %s: %s; write a size from 1 B to 256 TiB such as \"64 KiB\"", key, value, why)
	}
	if !isText(value) {
		return 0, wrong("it is no text")
	}
	bytes, why := quantity(asText(value), sizes)
	if why != "" {
		return 0, wrong(why)
	}
	if bytes < 1 || bytes > sizeMax {
		return 0, wrong("it is out of range")
	}
	return bytes, nil
}

// fields returns the values of an object's keys; nil if it is no object.
func fields(text []byte) (map[string]json.RawMessage, error) {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("there is text after the settings")
	}
	if _, ok := value.(map[string]any); !ok {
		return nil, nil
	}
	object := map[string]json.RawMessage{}
	return object, json.Unmarshal(text, &object)
}

func isText(value json.RawMessage) bool { return len(value) > 0 && value[0] == '"' }

// asText is a text without its quotes, or a number as it is written.
func asText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

func sortedKeys(object map[string]json.RawMessage) []string {
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
