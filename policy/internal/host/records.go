package host

import (
	"iter"
	"strings"

	"github.com/evergate/evergate/policy/internal/match"
)

// recordList is the grammar of a comma-separated list of DNS record names. See RecordNames.
func recordList(v Value) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		for name := range v.elements {
			for p := range RecordNames(name) {
				if !yield(name, p) {
					return
				}
			}
		}
	}
}

// RecordNames yields the hosts that the name of a DNS record affects. *.example covers any number of labels.
//
// A label that begins with _ is not part of a host name (RFC 8552). Its record is about the name after the label. For
// example, _acme-challenge.example proves to a certificate authority that its owner may have certificates for example
// and for *.example. The labels _dmarc and _domainkey, and the names of SRV, TLSA and URI records, direct clients of
// example. Such a name therefore affects the name after its last label with _, and all names below that name.
func RecordNames(name string) iter.Seq[match.HostPattern] {
	return func(yield func(match.HostPattern) bool) {
		p := AnyDepth(name)
		about, special := AboutName(p.Name)
		switch {
		case !special:
			yield(p)
		case about == "":
			yield(match.EveryHost())
		default:
			_ = yield(match.HostPattern{Name: about}) &&
				yield(match.HostPattern{Name: about, Depth: match.LabelsBelow})
		}
	}
}

// AboutName returns the part of a name after its last label that begins with _. special reports whether there is such a
// label.
func AboutName(name string) (about string, special bool) {
	i := strings.LastIndex(name, "._") + 1
	if i == 0 && !strings.HasPrefix(name, "_") {
		return "", false
	}
	return match.ParentHost(name[i:]), true
}

// OneLabel parses a name as in a certificate, where *.example covers one label. A text that is not a name is every
// host.
func OneLabel(name string) match.HostPattern {
	rest, wild := strings.CutPrefix(name, "*.")
	if !isHostName(rest) {
		return match.EveryHost()
	}
	p := match.ParseHost(rest)
	if wild {
		p.Depth = match.OneLabelBelow
	}
	return p
}

// AnyDepth parses a name as in DNS, where *.example covers any number of labels (RFC 4592). A text that is not a name
// is every host.
func AnyDepth(name string) match.HostPattern {
	p := OneLabel(name)
	if p.Depth == match.OneLabelBelow {
		p.Depth = match.LabelsBelow
	}
	return p
}
