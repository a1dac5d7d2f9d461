package review_test

import (
	"bytes"
	"testing"

	"github.com/evergate/evergate/review"
	"github.com/evergate/evergate/review/reviewtest/costliest"
)

// An update that changes any field that a reader reads, of any kind, is not unchanged.
func TestUnchangedOfEveryField(t *testing.T) {
	same := costliest.Updates(false)
	for i, changed := range costliest.Updates(true) {
		if review.Unchanged(changed.Body(0)) {
			t.Errorf("%s: another value is not a change", changed.Name)
		}
		body := same[i].Body(0)
		if !review.Unchanged(body) {
			t.Errorf("%s: the same value is a change", same[i].Name)
		}
		if !bytes.Contains(body, []byte(`"oldObject":`)) {
			t.Fatalf("%s: no update: %s", same[i].Name, body)
		}
	}
	if len(same) < 100 {
		t.Errorf("only %d fields were tried", len(same))
	}
}
