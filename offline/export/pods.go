package export

import (
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
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

// podImages returns an expression for all images of a Pod, each with the path of its field, in the order of
// sentences. With patch, each image also has its JSON Pointer and its key in the record.
func podImages(s side, patch bool) string {
	list := func(name, having, field string) string {
		pullPolicy := "?imagePullPolicy"
		if name == "volumes" {
			pullPolicy = "image.?pullPolicy"
		}
		pairs := "'path':'spec." + name + "['+string(i)+']." + field + "'"
		if patch {
			pairs = "'path':'/spec/" + name + "/'+string(i)+'/" + strings.ReplaceAll(field, ".", "/") + "'," +
				"'key':'" + name + "/'+string(c.?name.orValue(''))"
		}
		return string(s) + ".spec.?" + name + ".orValue([]).transformList(i,c," + having +
			"{" + pairs + ",'never':string(c." + pullPolicy + ".orValue(''))=='Never'?'y':''," +
			"'ref':string(c.?" + strings.ReplaceAll(field, ".", ".?") + ".orValue(''))})"
	}
	return list("containers", "", "image") + "+" + list("initContainers", "", "image") + "+" +
		list("ephemeralContainers", "", "image") + "+" + list("volumes", "has(c.image),", "image.reference")
}

// pods returns the kind for Pods.
func (x *exporter) pods() exportedKind {
	m := x.mirrors
	k := exportedKind{
		name: "pods", resources: podResources(), conditions: podConditions(),
		checks: func(e *policy.Entry) []check { return x.podChecks(e) },
		plain:  x.plainImages,
		capacity: func(checks int) string {
			return "validates Pods with up to " + number(LargestPod(checks)) +
				" images of 100 characters; the API server denies " +
				"Pods that exceed its cost budget"
		},
	}
	k.variables = func(s side) []variable {
		vars := []variable{
			{"images" + s.suffix(), podImages(s, false)},
			{"references" + s.suffix(), references("variables.images"+s.suffix(), "path", "ref", "never")},
		}
		if !x.usesMirrors() {
			return vars
		}
		for _, v := range m.variables(s, x.rewrites) {
			if s == now || strings.HasSuffix(v.name, s.suffix()) {
				vars = append(vars, v)
			}
		}
		return append(vars, variable{
			"decided" + s.suffix(), m.decided("variables.references"+s.suffix(), s, "path", "ref", "never"),
		})
	}
	return k
}

// usesMirrors reports whether a rule depends on the mirrors.
func (x *exporter) usesMirrors() bool {
	return slices.ContainsFunc(x.entries, func(e policy.Entry) bool {
		return e.Block == "pods" && blockOf(&e, "images")["from"] != nil
	})
}

// podChecks returns the checks of a pods entry, in the order of policy/internal/images/checks.go.
func (x *exporter) podChecks(e *policy.Entry) []check {
	images := blockOf(e, "images")
	var all []check
	add := func(id string, fails, sentence, malformed string) {
		fails = unlessExcluded(e, fails)
		list := "references"
		if id == "images.from" {
			list = "decided"
		}
		all = append(all, check{id: id, faults: func(s side) string {
			return "variables." + list + s.suffix() + ".filter(x," + fails + ").map(x,{'path':x.path," +
				"'id':x.ok==''?' '+x.ref:x.name+x.version,'why':" + quoted + "+(x.ok==''?" +
				str(" is not an image reference, so it "+malformed) + ":" + sentence + ")})"
		}})
	}
	allowed := texts(images["allowed"])
	switch {
	case images["from"] != nil:
		passes := anyOf("x.at!=''", "x.excluded!=''", covered(allowed))
		add("images.from", "x.ok==''||!("+passes+")", "(x.to!=''?"+bind("d", x.deniedAsWritten(),
			"' is not pulled from a mirror'+(d!=''?', because '+d+' denies it':x.never==''?'; write '+x.to:"+
				"', and not rewritten, because its pull policy is Never; load it on the nodes as '+x.to+"+
				"' and write that, or have the policy allow it')")+":"+x.withoutMirror(allowed)+")",
			"is not pulled from a mirror")
	case images["allowed"] != nil:
		pass := "no image is"
		if len(allowed) > 0 {
			pass = "allowed are " + text.List(allowed)
		}
		add("images.allowed", "x.ok==''||!("+isCovered(allowed)+")", str(" is not allowed; "+pass), "is not allowed")
	}
	if denied := texts(images["denied"]); len(denied) > 0 {
		add("images.denied", isDenied(denied),
			"' is denied by '+string("+deniedBy(denied)+"[0])", "counts as denied")
	}
	if tags := texts(images["deniedTags"]); len(tags) > 0 {
		add("images.deniedTags", hasDeniedTag(tags), "(x.version==''?"+
			"' has neither tag nor digest, which means latest':' has the tag '+"+tag+")+', and that is denied'+"+
			deniedTag(tags), "counts as having a denied tag")
	}
	if images["digest"] != nil {
		add("images.digest", "x.ok==''||!x.version.contains('@')", "' has no digest; write '+x.ref+'@sha256:<digest>'",
			"has no digest")
	}
	return all
}

// withoutMirror returns the sentence about an image x that no mirror has and that allowed does not contain.
func (x *exporter) withoutMirror(allowed []string) string {
	says, hub := str(" is not pulled from a mirror"+x.mirrors.pass(allowed)), x.mirrors.rewritesDockerHub()
	if hub == "" {
		return says
	}
	image := bind("p", "x.name.substring(size(r)+1)", "'docker.io/'+(p.contains('/')?p:'library/'+p)+x.version")
	return bind("r", "x.name.find('^[^/]*')", choose(
		"r in "+set(slices.DeleteFunc(hubNames(), func(s string) bool { return s == dockerHub }))+"&&x.never==''&&"+
			x.deniedAsWritten()+"==''",
		"' is not pulled from a mirror; write '+"+image+"+"+str(", which mirrors entry "+hub+" covers"), says))
}

// unlessExcluded returns a condition that the image x fails a check and that the entry does not exclude it.
func unlessExcluded(e *policy.Entry, fails string) string {
	if excluded := imagesOf(e); len(excluded) > 0 {
		return "(" + fails + ")&&!(x.ok!=''&&" + isCovered(excluded) + ")"
	}
	return fails
}

// isDenied returns a condition that the image x fails images.denied.
func isDenied(patterns []string) string {
	return "x.ok==''||" + allOf(hint(patterns), "size("+deniedBy(patterns)+")>0")
}

// hasDeniedTag returns a condition that the image x fails images.deniedTags.
func hasDeniedTag(patterns []string) string { return "x.ok==''||" + tagDenied(patterns) }

// deniedAsWritten returns an expression for the name of the first enforced check that denies the image x because of
// its name or tag, independent of the place it is pulled from. It is empty if no check does.
func (x *exporter) deniedAsWritten() string {
	by := "''"
	for i := range slices.Backward(x.entries) {
		e := &x.entries[i]
		images := blockOf(e, "images")
		if e.Block != "pods" || e.Mode != policy.Enforce || !x.native(e) {
			continue
		}
		applies := selects(e, now, "")
		for _, c := range []struct {
			field string
			fails func([]string) string
		}{{"deniedTags", hasDeniedTag}, {"denied", isDenied}} {
			if patterns := texts(images[c.field]); len(patterns) > 0 {
				fails := "(" + applies + ")&&(" + unlessExcluded(e, c.fails(patterns)) + ")"
				by = choose(fails, str(e.Name+"/images."+c.field), by)
			}
		}
	}
	return by
}

// covered is like isCovered, but without patterns it returns an empty string.
func covered(patterns []string) string {
	if len(patterns) == 0 {
		return ""
	}
	return isCovered(patterns)
}

// pass returns the end of the sentence about an image that does not have a mirror.
func (m *mirrors) pass(allowed []string) string {
	var known []string
	seen := map[string]bool{}
	for _, e := range m.all {
		mirror := blockOf(e, "mirror")
		place, _ := mirror["place"].(string)
		if mirror["keepRegistry"] != nil {
			place += "/{registry}"
		}
		if !seen[place] {
			seen[place] = true
			known = append(known, place)
		}
	}
	if known = append(known, allowed...); len(known) == 0 {
		return ", and the policy has no active mirrors"
	}
	return "; allowed are " + text.List(known)
}

// tagDenied returns a condition that the tag of x is denied.
func tagDenied(patterns []string) string { return bind("t", tag, allOf("t!=''", globs(patterns, "t"))) }

// deniedTag returns an expression for the end of the sentence about the tag of x. It contains the first pattern that
// matches the tag, unless the pattern is the tag itself.
func deniedTag(patterns []string) string {
	end := "''"
	for _, p := range slices.Backward(patterns) {
		if strings.Contains(p, "*") {
			end = globs([]string{p}, "t") + "?" + str(" by "+p) + ":" + end
		} else {
			end = "t==" + str(p) + "?'':" + end
		}
	}
	return bind("t", tag, end)
}
