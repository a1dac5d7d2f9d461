package match

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// automaton decides whether a regular expression matches a whole text. It is deterministic, so each byte takes at most
// one look-up. Package regexp may have to follow each thread of the program. The difference matters because a policy
// may compare a value that a tenant has written with many expressions. An automaton is immutable.
type automaton struct {
	byteClass [256]uint8 // the class of an ASCII character; the class of U+0080 for bytes of other characters
	// single is 256 if all characters outside ASCII are in the same class, and 128 otherwise. A byte below single that
	// keeps the state does not have to be decoded.
	single  uint
	bounds  []rune // where classes begin, beginning with 0
	classes int
	// next contains the row of the following state, at the row of a state plus the class of a character. The last
	// element of each row is the state's exit. The first row belongs to the dead state, from which no text is accepted.
	next    []uint16
	accepts []bool // by state: whether the text may end here
}

// These limits bound an automaton. Package regexp matches an expression that needs more, such as (a|b)*a(a|b){20}.
const (
	maxClasses = 100
	// cellsPerStep is the maximum number of elements of next for each step of the expression, as Cost counts steps. The
	// steps of a policy are bounded, so the memory of its automata is bounded too.
	cellsPerStep = 64
	// workPerStep is the maximum number of instructions to visit while building the automaton, for each step of the
	// expression.
	workPerStep = 200
)

// An exit is an ASCII character that leads out of a state. All other characters, and bytes that are not UTF-8, keep the
// state. These values mean that a state does not have an exit.
const (
	severalExits = utf8.RuneSelf + iota // several characters lead out of the state, or characters outside ASCII
	endless                             // no character leads out of the state
)

// searchBytes is the number of bytes after which match may begin another search for the end of a state. Beginning one
// costs as much as a few look-ups, so a text in which states are short does not become much slower.
const searchBytes = 8

// newAutomaton returns the automaton of an expression with a number of steps. It returns nil if the automaton would be
// too large, or if the expression contains the boundary of a word or of a line.
func newAutomaton(tree *syntax.Regexp, steps int) *automaton {
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil
	}
	bounds, ok := runeBounds(program)
	if !ok {
		return nil
	}
	b := &builder{
		program: program, states: map[string]uint16{},
		automaton: automaton{bounds: bounds, classes: len(bounds)},
		cells:     min(cellsPerStep*(steps+4), 1<<16-1), work: workPerStep * (steps + 4),
	}
	return b.build()
}

// runeBounds returns the characters at which the result of an instruction of the program may change. ok is false if
// there are too many, or if the program has an instruction that automata do not support.
func runeBounds(program *syntax.Prog) (bounds []rune, ok bool) {
	bounds = []rune{0}
	add := func(lo, hi rune) {
		bounds = append(bounds, lo)
		if hi < unicode.MaxRune {
			bounds = append(bounds, hi+1)
		}
	}
	for i := range program.Inst {
		inst := &program.Inst[i]
		switch inst.Op {
		case syntax.InstRune, syntax.InstRune1:
			addRunes(inst, add)
		case syntax.InstRuneAnyNotNL:
			add('\n', '\n')
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^(syntax.EmptyBeginText|syntax.EmptyEndText) != 0 {
				return nil, false
			}
		}
		if len(bounds) > 8*maxClasses {
			return nil, false
		}
	}
	slices.Sort(bounds)
	bounds = slices.Compact(bounds)
	return bounds, len(bounds) <= maxClasses
}

// addRunes adds the ranges of an instruction. If case does not matter, it adds the other cases of a single character.
func addRunes(inst *syntax.Inst, add func(lo, hi rune)) {
	if len(inst.Rune) == 1 {
		r := inst.Rune[0]
		add(r, r)
		if syntax.Flags(inst.Arg)&syntax.FoldCase != 0 {
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				add(f, f)
			}
		}
		return
	}
	for i := 0; i+1 < len(inst.Rune); i += 2 {
		add(inst.Rune[i], inst.Rune[i+1])
	}
}

// builder makes an automaton. A state is a set of instructions that wait for a character or for the end of the text.
type builder struct {
	automaton
	program *syntax.Prog
	states  map[string]uint16 // numbers of the states, by their encoded instructions
	sets    [][]uint32
	cells   int // remaining elements of next
	work    int // remaining instructions to visit
	visited []bool
}

func (b *builder) build() *automaton {
	for c := range b.byteClass {
		b.byteClass[c] = b.class(min(rune(c), utf8.RuneSelf))
	}
	if b.single = utf8.RuneSelf; b.bounds[b.classes-1] <= utf8.RuneSelf {
		b.single = uint(len(b.byteClass))
	}
	b.visited = make([]bool, len(b.program.Inst))
	_, _ = b.state(nil)
	if _, ok := b.add("start", b.closure([]uint32{uint32(b.program.Start)}, true, false)); !ok {
		return nil
	}
	for i := 0; i < len(b.sets); i++ { //nolint:intrange // sets grows in the loop
		for class := range b.classes {
			var then []uint32
			for _, pc := range b.sets[i] {
				inst := &b.program.Inst[pc]
				if isRune(inst) && inst.MatchRune(b.bounds[class]) {
					then = append(then, inst.Out)
				}
			}
			to, ok := b.state(b.closure(then, false, false))
			if !ok {
				return nil
			}
			b.next[i*b.stride()+class] = to * uint16(b.stride())
		}
		b.next[i*b.stride()+b.classes] = b.exit(i)
	}
	return &b.automaton
}

// exit returns the exit of a state.
func (b *builder) exit(state int) uint16 {
	row := state * b.stride()
	exit := uint16(endless)
	for class, to := range b.next[row : row+b.classes] {
		if int(to) == row {
			continue
		}
		char := b.bounds[class]
		one := class+1 < b.classes && b.bounds[class+1] == char+1 && char < utf8.RuneSelf
		if !one || exit != endless {
			return severalExits
		}
		exit = uint16(char)
	}
	return exit
}

// state returns the number of the state for a set of instructions. ok is false if the automaton would be too large.
func (b *builder) state(set []uint32) (number uint16, ok bool) {
	key := make([]byte, 0, 4*len(set))
	for _, pc := range set {
		key = append(key, byte(pc), byte(pc>>8), byte(pc>>16), byte(pc>>24))
	}
	if number, ok = b.states[string(key)]; ok {
		return number, true
	}
	return b.add(string(key), set)
}

// add adds a state for set and returns its number. ok is false if the automaton would be too large.
func (b *builder) add(key string, set []uint32) (number uint16, ok bool) {
	b.cells -= b.stride()
	if b.cells < 0 || b.work < 0 {
		return 0, false
	}
	number = uint16(len(b.sets))
	b.states[key] = number
	b.sets = append(b.sets, set)
	b.next = append(b.next, make([]uint16, b.stride())...)
	atEnd := b.closure(slices.Clone(set), number == startState, true)
	b.accepts = append(b.accepts, slices.ContainsFunc(atEnd, func(pc uint32) bool {
		return b.program.Inst[pc].Op == syntax.InstMatch
	}))
	return number, true
}

// startState is the number of the state in which a text begins. No state leads to it. State 0 is the dead state.
const startState = 1

// closure returns the sorted instructions that can be reached from list without reading a character. The result
// contains the instructions that wait for a character, the instructions that wait for the end of the text unless end is
// true, and the match instruction.
func (b *builder) closure(list []uint32, begin, end bool) []uint32 {
	var set []uint32
	var seen []uint32
	for len(list) > 0 {
		pc := list[len(list)-1]
		list = list[:len(list)-1]
		if b.visited[pc] {
			continue
		}
		b.visited[pc] = true
		seen = append(seen, pc)
		inst := &b.program.Inst[pc]
		switch inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			list = append(list, inst.Out, inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			list = append(list, inst.Out)
		case syntax.InstEmptyWidth:
			needs := syntax.EmptyOp(inst.Arg)
			switch {
			case needs&syntax.EmptyBeginText != 0 && !begin:
			case needs&syntax.EmptyEndText != 0 && !end:
				set = append(set, pc)
			default:
				list = append(list, inst.Out)
			}
		case syntax.InstFail:
		default:
			set = append(set, pc)
		}
	}
	for _, pc := range seen {
		b.visited[pc] = false
	}
	b.work -= 1 + len(seen) + len(set)
	slices.Sort(set)
	return set
}

func isRune(inst *syntax.Inst) bool {
	switch inst.Op {
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return true
	}
	return false
}

// stride is the length of the row of a state.
func (a *automaton) stride() int { return a.classes + 1 }

// class returns the class of a character.
func (a *automaton) class(c rune) uint8 {
	if c >= a.bounds[a.classes-1] {
		return uint8(a.classes - 1)
	}
	i, found := slices.BinarySearch(a.bounds, c)
	if !found {
		i--
	}
	return uint8(i)
}

// match reports whether the expression matches the whole of a text. A byte that is not UTF-8 is U+FFFD, as in package
// regexp.
func (a *automaton) match(s string) bool {
	row, next, searches := uint(startState*a.stride()), a.next, 0
	for i := 0; i < len(s); i++ {
		if i >= searchBytes*searches {
			searches++
			if i = a.leave(s, i, row); i == len(s) {
				break
			}
		}
		class := uint(0)
		if c := s[i]; c < utf8.RuneSelf {
			class = uint(a.byteClass[c])
		} else {
			r, n := utf8.DecodeRuneInString(s[i:])
			class = uint(a.class(r))
			i += n - 1
		}
		row = uint(next[row+class])
	}
	return a.accepts[row/uint(a.stride())]
}

// leave returns the index of the first byte, from i on, after which the state of a row may change. It returns len(s) if
// there is no such byte.
func (a *automaton) leave(s string, i int, row uint) int {
	switch exit := a.next[row+uint(a.classes)]; exit {
	case severalExits:
		for i < len(s) && uint(s[i]) < a.single && uint(a.next[row+uint(a.byteClass[s[i]])]) == row {
			i++
		}
		return i
	case endless:
		return len(s)
	default:
		if n := strings.IndexByte(s[i:], byte(exit)); n >= 0 {
			return i + n
		}
		return len(s)
	}
}
