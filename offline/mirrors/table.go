// Package mirrors converts the mirrors block of a policy to the tables of mirrors of container runtimes.
//
// [FromPolicy] makes a [Table] of a policy, which [Table.Write] writes for a container runtime. It exports an entry
// exactly or not at all.
//
//	table.go   the table
//	export.go  the table of a policy, and the parts of a policy that container runtimes cannot express
//	write.go   the formats of the container runtimes
package mirrors

import "strings"

// Table is a table of mirrors, in the order of its origin.
type Table []Row

// Row is a row of a table: where images with a prefix are pulled from.
type Row struct {
	// Prefix is a registry, or a registry and a path. It covers the images below it.
	Prefix string
	// Mirror is the place from which the images are pulled instead. It replaces the prefix.
	Mirror string
	// Fallback reports whether the images are pulled from the prefix if the mirror does not have them.
	Fallback bool
}

// registryOf returns the registry of a place.
func registryOf(place string) string {
	registry, _, _ := strings.Cut(place, "/")
	return registry
}

// isBelow reports whether a name is a place or a name below it.
func isBelow(name, place string) bool { return name == place || strings.HasPrefix(name, place+"/") }
