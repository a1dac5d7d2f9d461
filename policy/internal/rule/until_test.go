package rule

import (
	"strings"
	"testing"
	"time"
)

func TestMoment(t *testing.T) {
	for text, want := range map[string]string{
		"2027-01-31":                     "2027-02-01T00:00:00Z", // the end of the day, in UTC
		"2028-02-28":                     "2028-02-29T00:00:00Z",
		"2027-12-31":                     "2028-01-01T00:00:00Z",
		"2027-01-31T18:00:00Z":           "2027-01-31T18:00:00Z",
		"2027-01-31T18:00:00+01:00":      "2027-01-31T17:00:00Z",
		"2027-01-31T18:00:00.5Z":         "2027-01-31T18:00:00Z", // shown without the fraction
		"2027-02-30":                     "",
		"2027-1-31":                      "",
		"31.01.2027":                     "",
		"20270131":                       "",
		"2027-01-31 18:00:00":            "",
		"2027-01-31T18:00Z":              "",
		"2027-01-31T18:00:00":            "",
		"2027-01-31T24:00:00Z":           "",
		"tomorrow":                       "",
		"":                               "",
		"0227-01-31":                     "",
		"2999-12-30":                     "2999-12-31T00:00:00Z",
		"2999-12-31":                     "",
		"9999-12-31T23:59:59-23:00":      "",
		strings.Repeat("2027-01-31", 99): "",
	} {
		var m Moment
		err := m.UnmarshalText([]byte(text))
		got := ""
		if err == nil {
			got = m.ends.Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%.30q: got %q (%v), want %q", text, got, err, want)
		}
	}
}

func FuzzMoment(f *testing.F) {
	for _, text := range []string{"2027-01-31", "2027-01-31T18:00:00+01:00", "2027-02-30", "2999-12-30T23:59:59.999-12:00", "0000-00-00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var m Moment
		if err := m.UnmarshalText([]byte(text)); err != nil {
			if msg := err.Error(); len(msg) > 512 || strings.ContainsFunc(msg, func(c rune) bool { return c < ' ' }) {
				t.Errorf("a sentence of %d bytes, or with control characters: %q", len(msg), msg)
			}
			return
		}
		if y := m.ends.Year(); y < firstYear || y > lastYear || m.ends.Location() != time.UTC || m.String() != text {
			t.Errorf("%q ends at %s", text, m.ends)
		}
		if m.HasEnded(m.ends.Add(-1)) || !m.HasEnded(m.ends) {
			t.Errorf("%q does not end at %s", text, m.ends)
		}
		var again Moment
		if err := again.UnmarshalText([]byte(m.ends.Format(time.RFC3339Nano))); err != nil || !again.ends.Equal(m.ends) {
			t.Errorf("%q: %s, again %s (%v)", text, m.ends, again.ends, err)
		}
		if day, err := time.Parse(time.DateOnly, text); err == nil && m.ends.Sub(day) != 24*time.Hour {
			t.Errorf("the day %q ends at %s", text, m.ends)
		}
	})
}
