package deploy

// privateKey: no Secret of the input holds a private key.
func privateKey() check {
	return check{
		id: "private-key", severity: Error,
		finds: "a private key in the input",
		why: "a reader of the manifests, or of this dump, can answer for Evergate and so change every matched " +
			"object",
		fix: "let cert-manager make the key; collect a live cluster with deploy/collect.sh, which leaves keys out",
		run: func(c *cluster, r *reporter) {
			for _, s := range c.secrets {
				for _, key := range []string{"tls.key", "ca.key"} {
					if len(s.Data[key]) > 0 || s.StringData[key] != "" {
						r.error(c.ref(s), "it holds %s", key)
						break
					}
				}
			}
		},
	}
}
