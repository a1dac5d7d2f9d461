package export

import (
	"strconv"
	"strings"

	"github.com/evergate/evergate/policy"
)

// LargestPod returns the largest number of images of 100 characters in a Pod for which the API server can evaluate a
// policy with the given number of checks. The API server denies a Pod if the expressions exceed their cost budget. A
// test in the module equivalence verifies the number.
func LargestPod(checks int) int {
	const (
		images = 300 // safe for one check, because each expression also has a budget
		few    = 4   // with this number of checks, the checks of images are still most of the cost
	)
	return images * few / max(few, checks)
}

// profile is the artifact with the seccomp profile of a Pod's spec or a container. The types before 1.38 lack it.
const profile = "dyn(item).?securityContext.?seccompProfile.?oci.?ref.orValue('')"

// imagesOf returns an expression for the result of a template for all images of a Pod, in the order of object.Place.
func imagesOf(element string) string {
	of := func(items, path, key, only, image, pullPolicy string) string {
		return cel(items+".transformList(i,item,"+only+element+")", "$path", path, "$image", image, "$key", key,
			"$pointer", "/"+strings.NewReplacer(".", "/", "['", "/'", "']", "'").Replace(path), "$pullPolicy", pullPolicy)
	}
	const field, set, none = "securityContext.seccompProfile.oci.ref", profile + "!='',", "optional.none()"
	images, profiles := []string{}, []string{of("[object.spec]", "spec."+field, "seccompProfile", set, profile, none)}
	for _, list := range []string{"containers", "initContainers", "ephemeralContainers"} {
		items, path := "object.spec.?"+list+".orValue([])", "spec."+list+"['+string(i)+']."
		images = append(images, of(items, path+"image", list, "", "item.?image.orValue('')", "item.?imagePullPolicy"))
		profiles = append(profiles, of(items, path+field, list+".seccompProfile", set, profile, none))
	}
	volumes := of("object.spec.?volumes.orValue([])", "spec.volumes['+string(i)+'].image.reference", "volumes",
		"has(item.image),", "item.image.?reference.orValue('')", "item.image.?pullPolicy")
	return strings.Join(append(append(images, volumes), profiles...), "+")
}

// pods returns the kind for Pods.
func (x *exporter) pods() *exportedKind {
	return &exportedKind{
		name: "pods", resources: podResources(), conditions: podConditions(),
		variables: append([]variable{
			{"images", imagesOf("{'path':'$path','ref':string($image)}")},
			{"references", x.references("variables.images", "path", "ref")},
		}, x.mirrors.variables()...),
		selector: selector{dimensions: []string{"namespaces", "podLabels"}},
		checks:   x.podChecks,
		capacity: func(checks int) string {
			return "validates Pods with up to " + strconv.Itoa(LargestPod(checks)) +
				" images of 100 characters; the API server denies Pods that exceed its cost budget"
		},
	}
}

// malformed is a condition that an image is not a valid reference.
const malformed = "image.name==''"

// podChecks returns the checks of a pods entry, in the order of policy/internal/images/checks.go.
func (x *exporter) podChecks(fields policy.Fields) []check {
	take(fields, "workloads") // the API server cannot evaluate the Pod templates of workloads
	excluded, _ := takeTexts(blockOf(fields, "exclude"), "images")
	var allowed []string
	if images := blockOf(fields, "images"); images["from"] != nil {
		allowed, _ = takeTexts(images, "allowed")
	}
	image := func(field, hint string, condition func(value any) string) check {
		return of(field, hint, func(value any) string {
			fails := malformed + "||" + condition(value)
			if len(excluded) > 0 {
				fails = "(" + fails + ")&&!(" + isCovered(excluded) + ")"
			}
			return cel("variables.references.filter(image,$condition).map(image,$fault)", "$condition", fails,
				"$fault", fault("image.path", malformed+"?' '+image.ref:image.name+image.version", "image.ref"))
		})
	}
	return []check{
		image("images.from", "is not pulled from a mirror", always(
			"!("+anyOf(x.mirrors.isMirrored(), isCovered(allowed))+")")),
		image("images.allowed", notAllowed, func(list any) string { return "!(" + isCovered(texts(list)) + ")" }),
		image("images.denied", "is denied", func(list any) string { return isDenied(texts(list)) }),
		image("images.deniedTags", "has a denied tag", func(list any) string { return hasDeniedTag(texts(list)) }),
		image("images.digest", "has no digest", always("!image.version.contains('@')")),
		image("images.qualified", "is a short name", always(isShort)),
	}
}

// hasDeniedTag returns a condition that one of the patterns matches the tag of an image. The tag is latest if the image
// has neither tag nor digest.
func hasDeniedTag(patterns []string) string {
	return cel(`[image.version==''?'latest':image.version.startsWith(':')?image.version.find('^:[^@]*').substring(1):'']
		.exists(tag,tag!=''&&($matches))`, "$matches", globs(patterns, "tag"))
}
