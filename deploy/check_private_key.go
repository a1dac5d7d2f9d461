package deploy

// privateKey checks that no Secret in the input contains a private key.
func privateKey() check {
	return check{
		id: "private-key", severity: Error,
		finds: "a private key in the input",
		why:   "anyone who can read the manifests or this dump can impersonate Evergate and change every matched object",
		fix: "let cert-manager create the key. To read a live cluster, use deploy/collect.sh, which leaves out " +
			"private keys",
		run: func(c *cluster, r *reporter) {
			for _, s := range c.secrets {
				for _, key := range []string{"tls.key", "ca.key"} {
					if len(s.Data[key]) > 0 || s.StringData[key] != "" {
						r.error(c.ref(s), "it contains %s", key)
						break
					}
				}
			}
		},
	}
}
