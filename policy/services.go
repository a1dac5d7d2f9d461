package policy

type servicesEntry struct {
	ruleHeader
}

func (e *servicesEntry) checks() []check[Service] { return nil }
