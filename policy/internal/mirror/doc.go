// Package mirror rewrites images to mirrors. It does not depend on rules for images.
//
// [Compile] compiles the entries of the mirrors block to a [Table], which finds the mirror of an image.
//
//	mirrors.go             the entry of the mirrors block
//	mirrors_table.go       the look-up of a mirror
//	mirrors_namespaces.go  the look-up by namespace of entries for one source; mirrors_overlaps.go, the errors about it
//	mirrors_conflicts.go   errors about two entries
//	mirrors_warnings.go    warnings about images.denied
//	rewrite_record.go      the annotation with the original images
//	outcome.go             what happens to an image
package mirror
