package offline

import (
	"fmt"
	"testing"
)

// A line for each reason lists a few names, or counts many objects by kind. The report keeps the names of all files.
func TestSkips(t *testing.T) {
	var s Skips
	s.Add(Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: "a", Name: "b"}, "not validated")
	s.Add(Object{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "a", Name: "web"}, "its Pods are validated instead")
	s.Add(Object{APIVersion: "v1", Kind: "Secret", Name: "c"}, "not validated")
	for i := range 277 {
		s.AddFile(&SkippedError{fmt.Sprintf("f%03d.yaml", i), whyIgnored})
	}
	want := []string{
		"skipped: ConfigMap a/b, Secret c (not validated)",
		"skipped: Deployment a/web (its Pods are validated instead)",
		"skipped: 277 files: f000.yaml, f001.yaml, f002.yaml, f003.yaml, f004.yaml and 272 more (ignored)",
	}
	equal(t, want, s.Lines())
	if n := len(s.SkippedFiles[0].Names); n != 277 {
		t.Errorf("%d names of files", n)
	}
	for i := range 12 {
		for range 1000 - i {
			s.Add(Object{APIVersion: "v1", Kind: fmt.Sprintf("K%02d", i)}, "not validated")
		}
	}
	want[0] = "skipped: 11,936 objects: 1,000 K00, 999 K01, 998 K02, 997 K03, 996 K04, 995 K05, 994 K06, 993 K07, " +
		"992 K08, 991 K09 and 4 more kinds (not validated)"
	equal(t, want, s.Lines())
}
