package settings

import "testing"

// Higher bounds than the defaults need more memory, and lower bounds do not need less.
func TestMemory(t *testing.T) {
	for _, test := range []struct {
		args []string
		want int64 // MiB
	}{
		{nil, 512},
		{[]string{"--max-connections=100", "--max-body-bytes=20971520"}, 512},
		{[]string{"--max-connections=2000"}, 712}, // docs/runbooks/sizing.md has 768 MiB for it
		{[]string{"--max-body-bytes=134217728"}, 768},
		{[]string{"--max-connections=2000", "--max-body-bytes=134217728"}, 968},
	} {
		p, _ := Container{Args: test.args}.Parse() // without a certificate it is rejected
		if got := p.Memory() >> 20; got != test.want {
			t.Errorf("%v: %d MiB, want %d", test.args, got, test.want)
		}
	}
}
