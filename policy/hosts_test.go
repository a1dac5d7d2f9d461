package policy

import (
	"math/rand/v2"
	"testing"

	"github.com/evergate/evergate/policy/internal/match"
)

// Looking hosts up one after the other has the same results as the set has for each.
func TestHostLookup(t *testing.T) {
	patterns := []string{"**", "a", "b.a", "*.a", "**.a", "*.b.a", "**.b.a", "c.b.a", "*.example", "x.example"}
	hosts := []string{"", "*", "a", "b.a", "c.a", "*.a", "c.b.a", "d.b.a", "d.b.a", "*.b.a", "e.d.b.a", "x.example", "y.example", "*.example", "z"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		set, chosen := match.NewHostSet(nil), []string{}
		for range random.IntN(4) {
			chosen = append(chosen, patterns[random.IntN(len(patterns))])
			set.Add(match.ParseHost(chosen[len(chosen)-1]))
		}
		ing := &Ingress{}
		for range 8 {
			ing.Rules = append(ing.Rules, IngressRule{Host: hosts[random.IntN(len(hosts))]})
		}
		var lookup hostLookup
		for i, host := range ruleHosts(ing) {
			if _, want := set.Covers(host.HostPattern); lookup.find(set, &host) != want {
				t.Fatalf("set %v, hosts %v: host %d is covered: %t", chosen, ing.Rules, i, want)
			}
		}
	}
}
