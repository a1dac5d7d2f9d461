package policy

import (
	"strings"
	"testing"
)

// What plainReference knows is what the grammar says.
func FuzzPlainReference(f *testing.F) {
	for _, s := range plainReferences() {
		f.Add(s)
	}
	for _, s := range []string{
		"index.docker.io/nginx", "docker.io/nginx", "a.example/b__c", "A.example/b", "a.example:/b", "a.example:5a/b", "x:1/y",
		"nginx:", "nginx:.1", "nginx@sha512:" + strings.Repeat("a", 128), strings.Repeat("a", 64), "a.example/" + strings.Repeat("x", 250),
		"a/" + strings.Repeat("x", 254), "nginx:" + strings.Repeat("1", 129), "localhost:5000/", "/x", "a//b", "a.-b/c", "a_b.example/c",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := plainReference(s)
		if !ok {
			return
		}
		if want, err := grammarReference(s); err != nil || got != want {
			t.Errorf("%q: got %v; the grammar says %v, %v", s, got, want, err)
		}
	})
}

// Those that clusters are full of are known.
func TestPlainReference(t *testing.T) {
	for _, s := range plainReferences() {
		if _, ok := plainReference(s); !ok {
			t.Errorf("%s is not known", s)
		}
	}
}

func plainReferences() []string {
	return []string{
		"nginx", "nginx:1.25", "bitnami/redis:7.2_debian-12", "docker.io/library/nginx", "localhost:5000/x", "localhost/x:A",
		"registry.k8s.io/kube-state-metrics/kube-state-metrics:v2.13.0", "reg.example:5000/a-b/c.d/e_f@" + digest256,
		"123456789012.dkr.ecr.eu-west-1.amazonaws.com/team/app:main-2026@" + digest256,
	}
}

// BenchmarkReference is the cost of reading one image.
func BenchmarkReference(b *testing.B) {
	const image = "registry.k8s.io/kube-state-metrics/kube-state-metrics:v2.13.0"
	b.Run("plain", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = parseReference(image)
		}
	})
	b.Run("grammar", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = grammarReference(image)
		}
	})
}
