package export

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	// longestPlain is the maximum length of the expression of plainImages. The cost of a match is the product of the
	// lengths of the regular expression and the image. For longer expressions, a lookup of the places costs less.
	longestPlain = 500
	// longestImage is the maximum length of an image that plainImages accepts. Its path is then never too long.
	longestImage = 255
)

// plainImages returns a condition that every image of a Pod passes all checks of some entries. It uses one regular
// expression: the image is written in full, is at an allowed place and has an allowed tag or digest. This is fast and
// sufficient for most Pods. Other Pods may pass too, but only the checks can decide. The condition is empty if no
// regular expression of moderate length is possible.
func (x *exporter) plainImages(entries []*entry) string {
	places, limited := x.plainPlaces(entries)
	if limited && len(places) == 0 {
		return ""
	}
	var tags []string
	digest := false
	for _, e := range entries {
		images := blockOf(e.Fields, "images")
		if denied := texts(images["denied"]); len(denied) > 0 && (!limited || mayDeny(denied, places)) {
			return ""
		}
		tags = append(tags, texts(images["deniedTags"])...)
		digest = digest || images["digest"] != nil
	}
	version := slices.ContainsFunc(tags, func(t string) bool { return matchesGlob(t, "latest") })
	passes := "size(container.image)<=" + strconv.Itoa(longestImage) + "&&container.image.matches(" +
		str(plainRegex(places, digest, version)) + ")"
	if len(tags) > 0 {
		denied := make([]string, len(tags))
		for i, t := range tags {
			denied[i] = globRegex(t)
		}
		// The expression may match a port instead of a tag. Then the Pod only has to pass the slower checks.
		passes += "&&!container.image.matches(" + str(":(?:"+strings.Join(denied, "|")+")(?:@|$)") + ")"
	}
	if len(passes) > longestPlain {
		return ""
	}
	return allImages(passes)
}

// plainRegex returns the regular expression of images at the given places. Without places, it matches images at any
// place.
func plainRegex(places []string, digest, version bool) string {
	const (
		path = `[a-z0-9]+(?:[._/-][a-z0-9]+)*`
		tag  = `:[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}`
		hash = `@sha256:[a-f0-9]{64}`
	)
	quoted := make([]string, len(places))
	for i, p := range places {
		quoted[i] = regexp.QuoteMeta(p)
	}
	at := "(?:" + strings.Join(quoted, "|") + ")/"
	if len(places) == 0 {
		at = `[a-z0-9]+(?:[.-][a-z0-9]+)*\.[a-z][a-z0-9]*/`
	}
	end := "(?:" + tag + ")?(?:" + hash + ")?"
	switch {
	case digest:
		end = "(?:" + tag + ")?" + hash
	case version:
		end = "(?:(?:" + tag + ")?" + hash + "|" + tag + ")"
	}
	return "^" + at + path + end + "$"
}

// plainPlaces returns places at which every entry allows images. limited reports whether an entry limits the places
// at all.
func (x *exporter) plainPlaces(entries []*entry) (places []string, limited bool) {
	for _, e := range entries {
		images := blockOf(e.Fields, "images")
		if images["from"] == nil && images["allowed"] == nil {
			continue
		}
		var own []string
		if images["from"] != nil {
			own = slices.Clone(x.mirrors.places)
		}
		allowed := newImagePatterns(texts(images["allowed"]))
		own = slices.Concat(own, allowed.places, allowed.below)
		if !limited {
			places, limited = own, true
			continue
		}
		places = slices.Concat(within(places, own), within(own, places))
	}
	slices.Sort(places)
	return slices.Compact(places), limited
}

// within returns the places that are at or below one of the other places.
func within(places, others []string) []string {
	return slices.DeleteFunc(slices.Clone(places), func(p string) bool {
		return !slices.ContainsFunc(others, func(o string) bool { return p == o || strings.HasPrefix(p, o+"/") })
	})
}

// mayDeny reports whether patterns may deny an image at one of some places. This is the case for images of the same
// registry, and for images of Docker Hub, which has several names.
func mayDeny(denied, places []string) bool {
	registryOf := func(place string) string { registry, _, _ := strings.Cut(place, "/"); return registry }
	return slices.ContainsFunc(places, func(p string) bool {
		return slices.Contains(hubNames(), registryOf(p)) ||
			slices.ContainsFunc(denied, func(d string) bool { return registryOf(d) == registryOf(p) })
	})
}
