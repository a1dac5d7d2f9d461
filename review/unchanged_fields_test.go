package review_test

import (
	"bytes"
	"testing"

	"github.com/evergate/evergate/review"
	"github.com/evergate/evergate/review/reviewtest/costliest"
)

// An update that changes any field that a reader reads, of any kind, is not unchanged.
func TestUnchangedOfEveryField(t *testing.T) {
	tried := 0
	for update := range costliest.Updates() {
		tried++
		if review.Unchanged(update.Body(true)) {
			t.Errorf("%s: another value is not a change", update.Name)
		}
		same := update.Body(false)
		if !review.Unchanged(same) {
			t.Errorf("%s: the same value is a change", update.Name)
		}
		if !bytes.Contains(same, []byte(`"oldObject":`)) {
			t.Fatalf("%s: no update: %s", update.Name, same)
		}
	}
	if tried < 100 {
		t.Errorf("only %d fields were tried", tried)
	}
}
