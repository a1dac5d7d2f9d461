package policy

import "strings"

// imagePod is a Pod with one container for each image.
func imagePod(images ...string) *Pod {
	pod := &Pod{Meta: Meta{Name: "pod", Namespace: "default"}}
	for i, ref := range images {
		pod.Images = append(pod.Images, Image{Containers, i, string(rune('a' + i)), ref})
	}
	return pod
}

var createPod = Attributes{Operation: Create, Namespace: "default", Resource: "pods"}

// rewriteOne returns what becomes of one image in a new Pod.
func rewriteOne(p *Policy, image string) ImageOutcome {
	return must(p.RewritePod(createPod, imagePod(image), nil, nil)).Images[0]
}

// mirrorText writes a mirrors entry in mode enforce, with further fields in one line each.
func mirrorText(name, sources, mirror string, more ...string) string {
	return "- name: " + name + "\n  sources: [" + sources + "]\n  mirror: " + mirror + "\n  mode: enforce\n  " +
		strings.Join(more, "\n  ") + "\n"
}

const digest256 = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

var digest512 = "sha512:" + strings.Repeat("0123456789abcdef", 8)
