//go:build !purego

package review

import (
	"math/bits"

	"golang.org/x/sys/cpu"
)

// hasBlocks says whether the processor has what readBlock takes, as nearly all for servers do: Intel's since 2013, AMD's since 2015.
var hasBlocks = cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasPCLMULQDQ

// A block is 64 bytes of a text that are looked at in one go: in each of these numbers a bit stands for a byte, the lowest for the
// first. readBlock fills it in, and leaves in it what the next block needs to know.
//
// JSON as an API server writes it has no white space. Then what may stand at a byte depends on the byte before, and on whether
// the innermost bracket is a brace. The first is looked at for all bytes at once, the second from bracket to bracket: readBlock tells
// for each what was there, since the one before, that must not be in a list, and what must not be in an object.
//
//nolint:unused // but for the assembly
type block struct {
	// From one block to the next.
	inside   uint64 // -1 while in a string
	escape   uint64 // 1 when a backslash was the last byte, and not escaped itself
	ends     uint64 // last bytes of values and names
	scalars  uint64 // bytes of true, false, null, numbers and whatever else is no token
	openers  uint64 // { and [
	colons   uint64
	names    uint64 // last quotes of strings that do not follow a colon: in an object they are names
	naming   uint64 // -1 while in such a string
	colonned uint64 // -1 while a colon was there since the last bracket
	nameless uint64 // -1 while something was there since the last bracket that must not be in an object

	wrong    uint64 // bytes that must not follow the byte before, wherever they are, and control characters
	brackets uint64 // { [ ] and }
	curly    uint64 // has the bits of { and }, not those of [ and ]; others mean nothing
	inList   uint64 // brackets before which something must not be in a list; others mean nothing
	inObject uint64 // brackets before which, or at which, something must not be in an object; others mean nothing
	starts   uint64 // first bytes of scalars
	escaped  uint64 // bytes that a backslash escapes
}

const blockSize = 64

// readBlock reads the next block of a text.
//
//go:noescape
func readBlock(b *block, text *[blockSize]byte)

// skipBlocks returns where the object or list at i ends, or notJSON if it does not know: because something is wrong with it, there
// is white space in it, it is nested too deep, or the text ends less than a block behind it. It takes half the time that skipTokens does.
func skipBlocks(data []byte, i int) int {
	if !hasBlocks {
		return notJSON
	}
	b := block{colons: 1 << (blockSize - 1)} // what begins at i is a value
	around := nesting(1)
	for ; len(data)-i >= blockSize; i += blockSize {
		readBlock(&b, (*[blockSize]byte)(data[i:i+blockSize]))
		object, until := around.follow(b.openers, b.brackets, b.curly)
		wrong := b.wrong | b.inObject&object | (b.inList&^object|(b.curly^object)&^b.openers)&b.brackets
		if until == 0 || wrong&until != 0 || !b.scalarsAndEscapes(data, i, until) {
			return notJSON
		}
		if around == 1 {
			return i + bits.Len64(until)
		}
	}
	return notJSON
}

// scalarsAndEscapes says whether those are right that begin in the block at i.
func (b *block) scalarsAndEscapes(data []byte, i int, until uint64) bool {
	for at := b.starts & until; at != 0; at &= at - 1 {
		end := skipScalar(data, i+bits.TrailingZeros64(at))
		if end < 0 || end == len(data) || data[end] != ',' && data[end]|0x20 != '}' {
			return false
		}
	}
	for at := b.escaped & until; at != 0; at &= at - 1 {
		if escaped := i + bits.TrailingZeros64(at); !isShortEscape(data[escaped]) && skipEscape(data, escaped-1) < 0 {
			return false
		}
	}
	return true
}

// nesting has a bit for each object or list around a place in a text, the innermost lowest, that says whether it is an object, and one
// more above them all.
type nesting uint64

// follow goes from bracket to bracket. It returns those that stand in an object, closers in that which they close, and the bytes until the
// value ends: all if it goes on behind the block, none if it is nested too deep.
func (n *nesting) follow(openers, brackets, curly uint64) (object, until uint64) {
	around := uint64(*n)
	for brackets != 0 {
		others := brackets & (brackets - 1)
		bit := brackets ^ others
		object |= bit & -(around & 1)
		if openers&bit == 0 {
			if around >>= 1; around == 1 {
				*n = 1
				return object, bit | (bit - 1)
			}
		} else {
			if around>>63 != 0 {
				return object, 0
			}
			around <<= 1
			if curly&bit != 0 {
				around |= 1
			}
		}
		brackets = others
	}
	*n = nesting(around)
	return object, ^uint64(0)
}
