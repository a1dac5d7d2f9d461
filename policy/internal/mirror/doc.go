// Package mirror rewrites images to mirrors. It does not depend on rules for images.
//
// [Compile] compiles the entries of the mirrors block to a [Table], which finds the mirror of an image.
//
//	mirrors.go     the entry of the mirrors block
//	table.go       the look-up of a mirror
//	namespaces.go  the look-up by namespace of entries for one source; overlaps.go, the errors about it
//	conflicts.go   errors about two entries
//	warnings.go    warnings about images.denied
//	record.go      the annotation with the original images
//	outcome.go     what happens to an image
package mirror
