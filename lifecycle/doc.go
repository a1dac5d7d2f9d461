// Package lifecycle is the life of the serving process: its phases, their order, and what clients notice of each. It is
// there so that no call is lost while a replica starts, is replaced, or hangs.
//
// The life of a replica that is rolled, with the default durations:
//
//	T0          Run is called             starting    the ops port answers; the serving port is not bound
//	T0+0.3s     policy, certificate there listening   the serving port is bound; reviews get 503, Retry-After: 1
//	T0+0.4s     the self-probe succeeded  ready       reviews are answered; the watchdog repeats the probe
//	...
//	T1          SIGTERM                   draining    readiness is false; every answer says Connection: close; the
//	                                                  listener stays open and new connections are served
//	T1+10s      DrainDelay is over                    endpoints have propagated: from here the drain may end
//	T1+10..30s  no connection is open, or stopping    the listener is closed (Shutdown); what is being answered is
//	            DrainTimeout is over                  answered
//	  +0..15s   all is answered, or                   what is open after ShutdownTimeout is closed (exit code 4)
//	            ShutdownTimeout is over
//	  +0..5s    the ops port is closed    stopped     telemetry is flushed; Run returns
//
// What waits for what:
//
//	 Open ──────────► listening ──► self-probe ──► ready      signal ──┐      signal ──► Run returns at once,
//	(policy,          (serving)     (repeated        │       (first)   │     (second)   in whatever phase
//	 certificate,                    until it        └───────┬─────────┘
//	 socket)                         succeeds)               ▼
//	                                                     draining ──► Connection: close on every answer
//	                                              ┌──────────┴───────────┐
//	                                              ▼                      ▼
//	                                         DrainDelay             DrainTimeout
//	                                              ▼                      │
//	                                     no connection is open           │
//	                                              └─── whichever first ──┤
//	                                                                     ▼
//	          stopped ◄── OnStop hooks ◄── ops port closed ◄── stopping: Shutdown, then Close
//
// A process that ends early takes the rest of the same way. If the signal comes before it was ready, no client is
// connected yet, and it goes straight to stopping. If its listener fails, it drains the connections that it has.
//
// Why a drain and not Shutdown alone: kube-apiserver keeps idle connections to a Pod that terminates, goes on using
// them (kubernetes issue 127335), and never retries a POST that met a closed one. Shutdown, and SetKeepAlivesEnabled,
// close idle connections at once, and lose the review that is being sent on one of them. An answer that says
// Connection: close lets the client close the connection instead.
package lifecycle
