package text

import "testing"

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 200_000: "200,000", 1_000_000: "1,000,000"} {
		if got := Thousands(n); got != want {
			t.Errorf("Thousands(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 objects", 1: "1 object", 1000: "1,000 objects"} {
		if got := Count(n, "object"); got != want {
			t.Errorf("Count(%d) = %s, want %s", n, got, want)
		}
	}
}
