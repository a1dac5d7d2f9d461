package policy

type ingressesEntry struct {
	ruleHeader
}

func (e *ingressesEntry) checks() []check[Ingress] { return nil }
