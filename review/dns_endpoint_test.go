package review

import "testing"

func TestOwnershipRecords(t *testing.T) {
	for target, want := range map[string]bool{
		`heritage=external-dns`:    true,
		`"heritage=external-dns"`:  true,
		`heri\116age=external-dns`: true,
		`heri\tage=external-dns`:   true,
		`heritage\061external-dns`: true,
		`hheritage\=`:              true,
		`\`:                        false,
		`heri\11`:                  false,
		`heri\999age=`:             false,
		`v=DKIM1\; k=rsa`:          false,
	} {
		if got := isOwnership(target); got != want {
			t.Errorf("%s: got %t", target, got)
		}
	}
}
