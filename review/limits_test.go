package review

import (
	"strings"
	"testing"
)

// Invalid bytes become U+FFFD, which takes three times the room, but the text in memory stays within the limit.
func TestKeptTextIsBounded(t *testing.T) {
	object := `{"metadata":{"annotations":{"a":"` + strings.Repeat("x", maxText-1) + `"}}}` // and its key
	if _, err := Pods().Parse([]byte(object)); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	object = `{"metadata":{"annotations":{"a":"` + strings.Repeat("\xff", maxText/3+1) + `"}}}`
	_, err := Pods().Parse([]byte(object))
	const want = "metadata.annotations.a: too large: at most 3 MiB of text of an object are evaluated"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// The limits apply to each object separately, and to the rest of the review.
func TestEachObjectHasItsLimit(t *testing.T) {
	annotations := `{"metadata":{"annotations":{"a":"` + strings.Repeat("x", maxText-1000) + `"}}}`
	body := strings.Replace(creation("pods", annotations), `"object"`,
		`"userInfo":{"groups":["g"]},"oldObject":`+annotations+`,"object"`, 1)
	if _, err := Pods().Decode([]byte(body)); err != nil {
		t.Error(err)
	}
	// Two thirds of the limit are in the object, and as much is before or after it.
	text := strings.Repeat("x", 2*maxText/3)
	object, users := `"object":{"metadata":{"annotations":{"a":"`+text+`"}}}`, `"userInfo":{"groups":["`+text+`"]}`
	for _, members := range []string{object + "," + users, users + "," + object} {
		body := strings.Replace(creation("pods", "{}"), `"object":{}`, members, 1)
		if _, err := Pods().Decode([]byte(body)); err != nil {
			t.Errorf("%.10s first: %v", members, err)
		}
	}
	groups := strings.Repeat(`"g",`, maxElements) + `"g"`
	body = strings.Replace(creation("pods", `{}`), `"object"`, `"userInfo":{"groups":[`+groups+`]},"object"`, 1)
	_, err := Pods().Decode([]byte(body))
	wantContentError(t, err, "u-1",
		"userInfo.groups[10000]: too large: at most 10000 list elements and map entries of an object are evaluated")
}
