package settings

import "github.com/evergate/evergate/lifecycle"

// docs/runbooks/sizing.md explains these numbers.
const (
	defaultMemory = 512 << 20 // the memory limit of the manifests, which has room for the defaults of all flags
	defaultBodies = 64 << 20  // handlers.Limits.BodyBytes
	perConnection = 285 << 10 // bytes: 125 KiB of the process, and 160 KiB in the kernel
	perBodyByte   = 4         // the body, the decoded values and garbage
)

// Memory returns the memory limit in bytes that the bounds of --max-connections and --max-body-bytes need. It is never
// below the limit of the manifests, because lower bounds than the defaults have not been measured.
func (f *Serve) Memory() int64 {
	connections := max(0, int64(f.MaxConnections)-lifecycle.DefaultMaxConnections)
	bodies := max(0, f.Limits.BodyBytes-defaultBodies)
	return defaultMemory + connections*perConnection + bodies*perBodyByte
}
