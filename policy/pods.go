package policy

type podsEntry struct {
	ruleHeader
}

func (e *podsEntry) checks(t *mirrorTable) []check[Pod] { return nil }
