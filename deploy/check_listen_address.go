package deploy

import "net/netip"

// listenAddress checks that --listen and --ops-listen do not contain a host, so the process listens on all addresses
// of its Pod. It does not check a host that is not known, such as $(POD_IP).
func listenAddress() check {
	return check{
		id: "listen-address", severity: Error,
		finds: "a listener on 127.0.0.1, localhost, [::1] or any other single address",
		why: "programs outside the Pod cannot reach the listener. Probes fail, so the replica is never ready or restarts " +
			"again and again, and no call arrives. The process cannot bind an address that the Pod does not have",
		fix: "write only the port: --listen=:10250, --ops-listen=:8080",
		run: eachServer(func(_ *cluster, s *server, r *reporter) {
			if s.settings.Dev {
				r.error(s.process, "with --dev it serves on its own machine only, with a certificate that no API server trusts")
				return
			}
			for _, flag := range []string{"listen", "ops-listen"} {
				l, ok := s.listener(flag)
				switch {
				case !ok || l.host == "":
				case loopback(l.host):
					r.error(s.process, "--%s is on %s, which nothing outside the container can reach: write --%s=:%d", flag,
						printable(l.host), flag, l.port)
				default:
					r.error(s.process, "--%s is on %s, and each Pod has another address: write --%s=:%d", flag,
						printable(l.host), flag, l.port)
				}
			}
		}),
	}
}

// loopback reports whether a host can be reached only from itself.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}
