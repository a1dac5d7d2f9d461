package mirrors

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// Images returns the images in a list of Pods, or in a text with an image on each line, each once, in alphabetical
// order.
func Images(f File) (all []string, err error) {
	var pods struct {
		Items []struct {
			Spec struct {
				Containers, InitContainers, EphemeralContainers []struct{ Image string }
				Volumes                                         []struct{ Image struct{ Reference string } }
			}
		}
	}
	if json.Valid(f.Data) {
		err = json.Unmarshal(f.Data, &pods)
	} else {
		for l := range strings.Lines(string(f.Data)) {
			image, _, _ := strings.Cut(l, "#")
			all = append(all, strings.TrimSpace(image))
		}
	}
	for _, pod := range pods.Items {
		for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers, pod.Spec.EphemeralContainers) {
			all = append(all, c.Image)
		}
		for _, v := range pod.Spec.Volumes {
			all = append(all, v.Image.Reference)
		}
	}
	slices.Sort(all)
	all = slices.DeleteFunc(slices.Compact(all), func(s string) bool { return s == "" })
	other := slices.IndexFunc(all, func(s string) bool { return strings.ContainsAny(s, " {") })
	if len(all) == 0 || other >= 0 && pods.Items == nil {
		f.fail("", "not a list of images: use kubectl get pods -A -o json, or an image on each line")
	}
	return all, cmp.Or(err, f.err)
}

// examples returns images for each place in the table: the place, and images below it, next to it and above it, with a
// tag, a digest, both and neither.
func (t Table) examples() (all []string) {
	places := []string{dockerHub}
	for _, r := range t {
		places = append(append(places, r.Prefix), r.excluded...)
		for _, m := range r.Mirrors {
			places = append(places, m.Place)
		}
	}
	digest := "@sha256:" + strings.Repeat("0123456789abcdef", 4)
	for _, s := range places {
		s = strings.TrimLeft(s, "*.")
		base, registry := place(s), registryOf(s)
		names := []string{base + "/app", base + "/library/nginx", base + "/team/group/app", "a." + registry + "/app",
			"a.b." + registry + "/app", "registry.example/" + base + "/app"}
		if base != registry {
			names = append(names, base, base+"-x", base+"-x/app", registry+"/app")
		}
		for _, n := range names {
			all = append(all, n, n+":1.25", n+digest, n+":1.25"+digest, n+s[len(base):])
		}
	}
	return all
}
