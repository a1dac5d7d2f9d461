package chart

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
)

// rows is a set of rows of a space.
type rows [3]uint64

func (r *rows) add(i int)     { r[i/64] |= 1 << (i % 64) }
func (r rows) has(i int) bool { return r[i/64]&(1<<(i%64)) != 0 }

func (r rows) and(o rows) rows { return rows{r[0] & o[0], r[1] & o[1], r[2] & o[2]} }
func (r rows) or(o rows) rows  { return rows{r[0] | o[0], r[1] | o[1], r[2] | o[2]} }
func (r rows) len() int {
	return bits.OnesCount64(r[0]) + bits.OnesCount64(r[1]) + bits.OnesCount64(r[2])
}

// space contains the combinations of factors for which the manifests are rendered. Each row has the index of an option
// for each factor. The first row has the defaults.
type space struct {
	factors  []factor
	rows     [][]int
	literals []literal
}

// literal is a condition about one factor, and the rows in which it is true.
type literal struct {
	text string
	rows rows
}

// randomRows is enough to find the right condition: two conditions about two factors differ in a quarter of the
// combinations, and two conditions about four factors in a sixteenth. charts/test compares other combinations.
const randomRows = 32

// newSpace returns the rows with the defaults, with only one other option, and with random options.
func newSpace(factors []factor) *space {
	s := &space{factors: factors, rows: [][]int{make([]int, len(factors))}}
	for f := range factors {
		for o := 1; o < len(factors[f].options); o++ {
			row := make([]int, len(factors))
			row[f] = o
			s.rows = append(s.rows, row)
		}
	}
	random := rand.New(rand.NewPCG(1, 2)) // the same rows each time
	for n := len(s.rows) + randomRows; len(s.rows) < n; {
		row := make([]int, len(factors))
		for f := range factors {
			row[f] = random.IntN(len(factors[f].options))
		}
		if anyGroup(factors, row) {
			s.rows = append(s.rows, row)
		}
	}
	s.addLiterals()
	return s
}

// addLiterals adds the conditions about each option of each factor.
func (s *space) addLiterals() {
	for f, factor := range s.factors {
		for o, option := range factor.options {
			in, not := rows{}, rows{}
			for i, row := range s.rows {
				if row[f] == o {
					in.add(i)
				} else {
					not.add(i)
				}
			}
			switch value := option.value.(type) {
			case string:
				s.literals = append(s.literals, literal{fmt.Sprintf("eq .Values.%s %q", factor.path, value), in})
				s.literals = append(s.literals, literal{fmt.Sprintf("ne .Values.%s %q", factor.path, value), not})
			case bool:
				text := ".Values." + factor.path
				if !value {
					text = "not " + text
				}
				s.literals = append(s.literals, literal{text, in})
			}
		}
	}
}

// all returns all rows.
func (s *space) all() rows {
	var all rows
	for i := range s.rows {
		all.add(i)
	}
	return all
}

// condition returns the shortest condition that, in the rows of within, is true exactly in the rows of in.
func (s *space) condition(within, in rows) (string, error) {
	var some []literal // the literals that could be part of a conjunction or of a disjunction
	for _, l := range s.literals {
		switch got := l.rows.and(within); {
		case got == in:
			return l.text, nil
		case got.and(in) == in || got.or(in) == in:
			some = append(some, literal{l.text, got})
		}
	}
	for i, a := range some {
		for _, b := range some[:i] {
			if a.rows.and(b.rows) == in {
				return fmt.Sprintf("and (%s) (%s)", b.text, a.text), nil
			}
			if a.rows.or(b.rows) == in {
				return fmt.Sprintf("or (%s) (%s)", b.text, a.text), nil
			}
		}
	}
	for i, a := range some {
		for j, b := range some[:i] {
			for _, c := range some[:j] {
				if a.rows.and(b.rows).and(c.rows) == in {
					return fmt.Sprintf("and (%s) (%s) (%s)", c.text, b.text, a.text), nil
				}
				if a.rows.or(b.rows).or(c.rows) == in {
					return fmt.Sprintf("or (%s) (%s) (%s)", c.text, b.text, a.text), nil
				}
			}
		}
	}
	return "", fmt.Errorf("no condition about up to three values is true in the rows %s", s.describe(in))
}

// describe lists the options that differ from the default in the first rows of a set.
func (s *space) describe(in rows) string {
	var lines []string
	for i, row := range s.rows {
		if !in.has(i) || len(lines) == 3 {
			continue
		}
		var set []string
		for f, o := range row {
			if o > 0 {
				set = append(set, fmt.Sprintf("%s=%v", s.factors[f].path, s.factors[f].options[o].value))
			}
		}
		lines = append(lines, "{"+strings.Join(set, " ")+"}")
	}
	return strings.Join(lines, " ")
}
