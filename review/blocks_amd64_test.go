//go:build !purego

package review

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/evergate/evergate/review/reviewtest"
)

// FuzzBlocks holds skipBlocks to skipTokens: what it says is right, and it knows all that has no white space and at most 63 levels.
func FuzzBlocks(f *testing.F) {
	for _, b := range reviewtest.Bodies() {
		if len(b.Data) < 8<<10 {
			f.Add(bytes.TrimSpace(b.Data))
		}
	}
	for _, text := range scanTexts() {
		f.Add([]byte(text))
		f.Add([]byte(`{"padding":"` + strings.Repeat("x", len(text)) + `","text":` + text + `}`))
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkBlocks(t, text) })
}

func checkBlocks(t *testing.T, text []byte) {
	t.Helper()
	if !hasBlocks {
		t.Skip("not on this processor")
	}
	if len(text) == 0 || text[0]|0x20 != '{' {
		return
	}
	data := slices.Concat(text, bytes.Repeat([]byte(`,"`), blockSize)) // what follows is not looked at
	want := skipTokens(data, 0, maxDepth)
	switch got := skipBlocks(data, 0); {
	case got == want:
	case got != notJSON:
		t.Fatalf("%q ends at %d, not %d", text, got, want)
	case want >= 0 && compact(text[:want]) && depth(text[:want]) < mostLevels:
		t.Fatalf("%q should be known to end at %d", text, want)
	}
}

// compact says whether there is no white space in a JSON text but for that in strings.
func compact(text []byte) bool {
	var b bytes.Buffer
	return json.Compact(&b, text) == nil && b.Len() == len(text)
}

// depth returns how deep a JSON text is nested.
func depth(text []byte) (deepest int) {
	dec := newDecoder(text)
	for {
		if _, err := dec.ReadToken(); err != nil {
			return deepest
		}
		deepest = max(deepest, dec.StackDepth())
	}
}

// Wherever a block begins, and whatever stands instead of a byte, before it or after it.
func TestBlocksAgree(t *testing.T) {
	const text = `{"a":[1,-2.5e+3,"\"","\\","\u00e9x",[],{}],"b":{"c":true,"d":null,"e\\\"":[[{"f":""}],"g"]},"":{"":[false,{}]},"h":0}`
	for before := range blockSize {
		whole := []byte(`{"` + strings.Repeat("x", before) + `":` + text + `}`)
		checkBlocks(t, whole)
		for i := len(whole) - len(text); i < len(whole); i++ {
			if before%8 != 0 && (before+i)%8 != 0 {
				continue
			}
			for _, c := range []byte("{}[],:\"\\ \n\x00\x1fa0-.;=\\u|\x7f\xff") {
				checkBlocks(t, slices.Replace(slices.Clone(whole), i, i+1, c))
				checkBlocks(t, slices.Insert(slices.Clone(whole), i, c))
			}
			checkBlocks(t, slices.Delete(slices.Clone(whole), i, i+1))
			checkBlocks(t, whole[:i])
		}
	}
}

// All that API servers send is known, however much text follows it, unless that is less than a block.
func TestBlocksKnow(t *testing.T) {
	if !hasBlocks {
		t.Skip("not on this processor")
	}
	for _, body := range reviewtest.Bodies() {
		for i, c := range body.Data[:len(body.Data)-blockSize] {
			if c|0x20 != '{' || i > 0 && body.Data[i-1] == '"' {
				continue
			}
			want := skipTokens(body.Data, i, maxDepth)
			known := want >= 0 && len(body.Data)-want >= blockSize
			if got := skipBlocks(body.Data, i); known && got != want {
				t.Fatalf("%s: what begins at %d ends at %d, not %d", body.Name, i, want, got)
			}
		}
	}
}
