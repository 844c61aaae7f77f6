package limit

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// unit is a unit with its alternative spellings, and its size in the base unit.
type unit struct {
	name  string
	also  []string
	scale uint64
}

// units of a quantity, and what else a text may have been meant as.
type units struct {
	known []unit
	// ambiguous has units with two readings.
	ambiguous map[string][2]string
	// perSecond has rates in bytes per second, which are not allowed, since they could be mistaken for bits.
	perSecond []unit
}

var (
	binary = map[string][2]string{"K": {"KB", "KiB"}, "k": {"KB", "KiB"}, "M": {"MB", "MiB"}, "m": {"MB", "MiB"}, "G": {"GB", "GiB"}, "g": {"GB", "GiB"}}

	times = units{known: []unit{
		{"h", nil, 3_600_000_000_000_000}, {"min", nil, 60_000_000_000_000}, {"s", []string{"sec"}, 1_000_000_000_000},
		{"ms", []string{"msec"}, 1_000_000_000}, {"us", []string{"\u00b5s", "\u03bcs", "usec"}, 1_000_000}, {"ns", nil, 1_000}, {"ps", nil, 1},
	}, ambiguous: map[string][2]string{"m": {"min", "ms"}}}

	sizes = units{known: []unit{
		{"GB", nil, 1_000_000_000}, {"MB", nil, 1_000_000}, {"KB", []string{"kB"}, 1_000}, {"B", []string{"byte", "bytes"}, 1},
		{"GiB", nil, 1 << 30}, {"MiB", nil, 1 << 20}, {"KiB", nil, 1 << 10},
	}, ambiguous: binary}

	rates = units{known: []unit{
		{"Tbit/s", []string{"T", "TbE", "Tb", "Tb/s", "Tbps", "Tbit"}, 1_000_000_000_000},
		{"Gbit/s", []string{"G", "g", "GbE", "GE", "Gb", "Gb/s", "Gbps", "Gbit", "gbit"}, 1_000_000_000},
		{"Mbit/s", []string{"M", "Mb", "Mb/s", "Mbps", "Mbit", "mbit"}, 1_000_000},
		{"kbit/s", []string{"k", "kb", "kb/s", "kbps", "kbit"}, 1_000}, {"bit/s", nil, 1},
	}, perSecond: []unit{
		{"TB/s", nil, 8_000_000_000_000}, {"GB/s", nil, 8_000_000_000}, {"GBps", nil, 8_000_000_000}, {"MB/s", nil, 8_000_000},
		{"MBps", nil, 8_000_000}, {"KB/s", nil, 8_000}, {"kB/s", nil, 8_000}, {"GiB/s", nil, 8 << 30}, {"MiB/s", nil, 8 << 20},
	}}
)

// quantity parses "<decimal number> <unit>"; the space is optional. It returns the reason if the text is none.
func quantity(text string, of units) (uint64, string) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "-") {
		return 0, "it is negative"
	}
	end := strings.IndexFunc(text, func(c rune) bool { return (c < '0' || c > '9') && c != '.' && c != '_' })
	if end < 0 {
		end = len(text)
	}
	number, name := strings.ReplaceAll(text[:end], "_", ""), strings.TrimSpace(text[end:])
	whole, fraction, _ := strings.Cut(number, ".")
	switch {
	case whole+fraction == "" || strings.Contains(fraction, "."):
		return 0, "it has no number"
	case name == "":
		return 0, "its unit is missing"
	}
	scale, why := scaleOf(name, of)
	if why != "" {
		if per, other := scaleOf(name, units{known: of.perSecond}); other == "" {
			if rate, other := scaled(whole, fraction, per); other == "" {
				return 0, fmt.Sprintf("it is in bytes per second: write `%s`", printRate(rate))
			}
		}
		return 0, why
	}
	return scaled(whole, fraction, scale)
}

func scaleOf(name string, of units) (uint64, string) {
	near := ""
	for _, unit := range of.known {
		for _, spelling := range append([]string{unit.name}, unit.also...) {
			if spelling == name {
				return unit.scale, ""
			}
			if near == "" && strings.EqualFold(spelling, name) {
				near = unit.name
			}
		}
	}
	if readings, ok := of.ambiguous[name]; ok {
		return 0, fmt.Sprintf("its unit may mean `%s` or `%s`: write one of them", readings[0], readings[1])
	}
	if near != "" {
		return 0, fmt.Sprintf("its unit is unknown (did you mean `%s`?)", near)
	}
	return 0, "its unit is unknown"
}

// scaled is a decimal number times a scale, exactly.
func scaled(whole, fraction string, scale uint64) (uint64, string) {
	const tooLarge = "it is too large"
	value := uint64(0)
	if whole != "" {
		number, err := strconv.ParseUint(whole, 10, 64)
		if err != nil {
			return 0, tooLarge
		}
		hi, lo := bits.Mul64(number, scale)
		if hi != 0 {
			return 0, tooLarge
		}
		value = lo
	}
	fraction = strings.TrimRight(fraction, "0")
	parts := uint64(1)
	for range fraction {
		if parts > math.MaxUint64/10 {
			return 0, "it is finer than the smallest unit"
		}
		parts *= 10
	}
	if fraction == "" {
		return value, ""
	}
	number, err := strconv.ParseUint(fraction, 10, 64)
	if err != nil {
		return 0, tooLarge
	}
	hi, lo := bits.Mul64(number, scale)
	part, rest := bits.Div64(hi, lo, parts)
	if rest != 0 {
		return 0, "it is finer than the smallest unit"
	}
	sum, carry := bits.Add64(value, part, 0)
	if carry != 0 {
		return 0, tooLarge
	}
	return sum, ""
}

// printRate prints a rate in the largest unit that it reaches, as an exact decimal.
func printRate(rate uint64) string {
	for _, unit := range rates.known {
		if rate >= unit.scale || unit.scale == 1 {
			text := strconv.FormatUint(rate/unit.scale, 10)
			if rest := rate % unit.scale; rest != 0 {
				digits := len(strconv.FormatUint(unit.scale, 10)) - 1
				text += "." + strings.TrimRight(fmt.Sprintf("%0*d", digits, rest), "0")
			}
			return text + " " + unit.name
		}
	}
	return ""
}

// parseShare parses a share: decimal, per cent, or fraction.
func parseShare(text string) (Share, string) {
	const none = "it has no number"
	text = strings.TrimSpace(text)
	var found Share
	var ok bool
	if percent, is := strings.CutSuffix(text, "%"); is {
		found, ok = decimal(percent)
		if ok && found.Denominator > math.MaxUint32/100 {
			return Share{}, none
		}
		found.Denominator *= 100
	} else if numerator, denominator, is := strings.Cut(text, "/"); is {
		n, err := strconv.ParseUint(strings.TrimSpace(numerator), 10, 32)
		d, other := strconv.ParseUint(strings.TrimSpace(denominator), 10, 32)
		found, ok = Share{uint32(n), uint32(d)}, err == nil && other == nil
	} else {
		found, ok = decimal(text)
	}
	switch {
	case !ok || found.Denominator == 0:
		return Share{}, none
	case found.Numerator > found.Denominator:
		return Share{}, "it is too large"
	}
	return found, ""
}

func decimal(text string) (Share, bool) {
	whole, fraction, _ := strings.Cut(strings.TrimSpace(text), ".")
	scale, sum := uint64(1), uint64(0)
	for range fraction {
		scale *= 10
		if scale > math.MaxUint32 {
			return Share{}, false
		}
	}
	number, err := strconv.ParseUint(whole, 10, 32)
	if err != nil {
		return Share{}, false
	}
	if fraction != "" {
		if sum, err = strconv.ParseUint(fraction, 10, 32); err != nil {
			return Share{}, false
		}
	}
	sum += number * scale
	return Share{uint32(sum), uint32(scale)}, sum <= math.MaxUint32
}
