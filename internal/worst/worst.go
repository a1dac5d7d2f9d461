// Package worst makes the reviews that cost the most, for tests and benchmarks that hold the cost of a review to a
// bound: each field that decides, with what a tenant could write there to make it expensive. Which fields decide is
// asked of the decoder itself, so that one that it reads tomorrow is tried as well.
//
//	fields.go     the fields that decide, of every kind; fields_routes.go, of routes
//	contents.go   what a tenant could write there
//	rows.go       both together, as reviews
//	target.go     the fields, for fuzzers to write into
//	tree.go       JSON that keeps its order and into which text of any length is put
//	policy.go     policies in which everything is checked
package worst

import (
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"
)

// What a review may cost, at most.
const (
	// MaxAnswer is the length of an answer: ten findings of 1 KiB, ten warnings and a patch of some images, with room
	// to spare. The API server reads up to 3 MiB of it, and etcd and the audit log keep parts.
	MaxAnswer = 64 << 10
	// MaxLog is what a review writes into the log. Collectors truncate lines at 16 KiB or less.
	MaxLog = 4 << 10
	// maxSteps is how many steps judging one object may take: see policy.Effort.
	maxSteps = 1_000_000
)

// MaxAllocated is how many bytes one review may allocate: its body is read, what decides is copied, and what is escaped
// is unescaped. 9 MiB is what ten rules take that find ten thousand hosts in an object, and in the one before.
func MaxAllocated(body int) int64 { return 3*int64(body) + 9<<20 }

// partVariable names the variable that chooses the part of the rows that tests try.
const partVariable = "EVERGATE_WORST_PART"

// Part chooses which of a number of parts of the rows a test tries. It rotates with the code: a checksum of the running
// program chooses the part, so the same program always tries the same rows, and a changed one tries others.
// EVERGATE_WORST_PART overrides the choice, to repeat a failure.
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
	program, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer program.Close()
	sum := crc32.NewIEEE()
	if _, err := io.Copy(sum, program); err != nil {
		return 0, err
	}
	return int(sum.Sum32() % uint32(parts)), nil
}
