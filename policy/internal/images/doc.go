// Package images evaluates images in Pods and in Pod templates, and rewrites images in Pods. It does not depend on any
// other kind of object.
//
// [Compile] compiles the entries of the pods block and the mirrors to [Rules].
//
//	rules.go      the compiled entries, and the evaluation of Pods
//	pods.go       the entry of the pods block, and the view of a Pod
//	checks.go     the checks of an image; digest.go, the check of its digest
//	workloads.go  the Pod templates in workloads
//	rewrite.go    the outcome of each image of a Pod; denied.go, the checks of images that are about to be rewritten
package images
