// Package costliest creates the costliest reviews, for tests and benchmarks that limit the cost of a review. It
// combines each field that affects a decision with the costliest contents that a tenant could write there. It uses the
// decoder to find these fields, so a new field is tried automatically.
package costliest

import (
	"fmt"
	"hash/crc32"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
)

// The maximum cost of a review.
const (
	// MaxAnswer is the length of a response: ten findings of 1 KiB, ten warnings and a patch of some images, with a
	// margin. The API server reads up to 3 MiB of it, and etcd and the audit log store parts.
	MaxAnswer = 64 << 10
	// MaxLog is the number of bytes that a review writes to the log. Collectors truncate lines at 16 KiB or less.
	MaxLog = 4 << 10
	// maxSteps is the number of steps for evaluating one object: see policy.Effort.
	maxSteps = 1_000_000
)

// MaxAllocated returns the number of bytes that one review may allocate. Its body is read, the fields that affect the
// decision are copied, and escapes are decoded. 14 MiB is the memory of 10,000 matches of a route in an object and in
// the old object, and of their findings. A match takes 128 bytes, and up to four times as much while its list grows.
func MaxAllocated(body int) int64 { return 3*int64(body) + 14<<20 }

// Race reports whether the race detector is on. sync.Pool then drops a quarter of its elements, so memory that is
// usually reused, for example by regular expressions, is allocated again.
func Race() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// partVariable is the environment variable that selects the part of the rows that tests try.
const partVariable = "EVERGATE_WORST_PART"

// Part returns the part of the rows that a test tries, out of the given number of parts. A checksum of the running
// program selects the part, so the same program always tries the same rows, and a changed program tries others.
// EVERGATE_WORST_PART overrides the selection, to repeat a failure.
func Part(parts int) (int, error) {
	if chosen, ok := os.LookupEnv(partVariable); ok {
		part, err := strconv.Atoi(chosen)
		if err != nil || part < 0 || part >= parts {
			return 0, fmt.Errorf("%s is %q: it must be a number from 0 to %d", partVariable, chosen, parts-1)
		}
		return part, nil
	}
	name, err := os.Executable()
	if err != nil {
		return 0, err
	}
	program, err := os.ReadFile(name)
	return int(crc32.ChecksumIEEE(program) % uint32(parts)), err
}
