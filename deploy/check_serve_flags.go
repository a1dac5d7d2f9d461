package deploy

// serveFlags: the durations and addresses among the flags can be read, and the drain is not shorter than its delay.
func serveFlags() check {
	return check{
		id: "serve-flags", severity: Error,
		finds: "flags of evergate serve that it refuses, or that contradict each other",
		why: "a process that refuses its flags never gets ready; a drain that is cut short loses calls at each " +
			"roll-out",
		fix: "write durations as 30s and addresses as :10250, and let --drain-timeout be above --drain-delay",
		run: func(c *cluster, r *reporter) {
			for _, s := range c.servers {
				delay, err := s.flags.duration("drain-delay")
				if err != nil {
					r.error(s.process, "%v", err)
				}
				drain, err := s.flags.duration("drain-timeout")
				if err != nil {
					r.error(s.process, "%v", err)
				} else if drain < delay {
					r.error(s.process, "--drain-timeout=%v, which counts from SIGTERM, is below --drain-delay=%v",
						drain, delay)
				}
				if _, err := s.flags.duration("shutdown-timeout"); err != nil {
					r.error(s.process, "%v", err)
				}
				for _, name := range []string{"listen", "ops-listen"} {
					if s.flags.port(name) == 0 {
						r.error(s.process, "--%s is %q, which has no port such as :10250", name, s.flags.get(name))
					}
				}
			}
		},
	}
}
