// Package lifecycle runs the serving process: its phases, their order, and the effect of each phase on clients. Its
// purpose is that no call is lost while a replica starts, is replaced, or hangs.
//
// This is the life of a replica that a rollout replaces, with the default durations:
//
//	T0          Run is called             starting    the ops port answers; the serving port is not bound
//	T0+0.3s     policy, certificate there listening   the serving port is bound; reviews get 503, Retry-After: 1
//	T0+0.4s     the self-probe succeeded  ready       reviews are answered; the watchdog repeats the probe
//	...
//	T1          SIGTERM                   draining    readiness is false; every answer has Connection: close; the
//	                                                  listener stays open and new connections are served
//	T1+10s      DrainDelay is over                    endpoints have propagated: from here the drain may end
//	T1+10..30s  no connection is open, or stopping    the listener is closed (Shutdown); reviews under way are
//	            DrainTimeout is over                  answered
//	  +0..15s   all is answered, or                   connections still open after ShutdownTimeout are closed
//	            ShutdownTimeout is over               (exit code 4)
//	  +0..5s    the ops port is closed    stopped     telemetry is flushed; Run returns
//
// Each step waits for the step before the arrow:
//
//	 Open ──────────► listening ──► self-probe ──► ready      signal ──┐      signal ──► Run returns immediately,
//	(policy,          (serving)     (repeated        │       (first)   │     (second)   in any phase
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
// A process that ends early goes through the remaining steps in the same order. If the signal arrives before the
// process was ready, no client is connected yet, and the process goes directly to stopping. If its listener fails, the
// process drains the connections that it has.
//
// A drain comes before Shutdown because kube-apiserver keeps idle connections to a terminating Pod, continues to use
// them (kubernetes issue 127335), and never retries a POST that was sent on a closed connection. Shutdown and
// SetKeepAlivesEnabled close idle connections immediately, and lose a review that is being sent on one of them. A
// response with Connection: close lets the client close the connection instead.
package lifecycle
