package deploy

import "net/netip"

// listenAddress: --listen and --ops-listen name no address of their own, so that the process listens on those of its
// Pod. An address that is not known, such as $(POD_IP), is not judged.
func listenAddress() check {
	return check{
		id: "listen-address", severity: Error,
		finds: "a listener on 127.0.0.1, localhost, [::1] or any other single address",
		why: "nothing outside of the container reaches it: probes fail, so that the replica is never ready or is " +
			"restarted again and again, and no call arrives; an address that the Pod does not have cannot be bound at all",
		fix: "write the port alone: --listen=:10250, --ops-listen=:8080",
		run: func(c *cluster, r *reporter) {
			for _, s := range c.servers {
				if s.settings.Dev {
					r.error(s.process, "with --dev it serves on its own machine only, with a certificate that no API server trusts")
					continue
				}
				for _, flag := range []string{"listen", "ops-listen"} {
					l, ok := s.listener(flag)
					switch {
					case !ok || l.host == "":
					case loopback(l.host):
						r.error(s.process, "--%s is on %s, which nothing outside of the container reaches: write --%s=:%d", flag,
							printable(l.host), flag, l.port)
					default:
						r.error(s.process, "--%s is on %s, and each Pod has another address: write --%s=:%d", flag,
							printable(l.host), flag, l.port)
					}
				}
			}
		},
	}
}

// loopback reports whether a host is reached from itself only.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}
