package docs

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestNavigation checks that the navigation of the website lists every page. The build of the website checks this too,
// but it needs npm.
func TestNavigation(t *testing.T) {
	navigation := string(read(t, "site/.vitepress/navigation.mts"))
	for _, pattern := range []string{"*.md", "runbooks/*.md"} {
		pages, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			if path := "docs/" + page; !strings.Contains(navigation, "'"+path+"'") {
				t.Errorf("the navigation does not list %s", path)
			}
		}
	}
}
