package text

import "strings"

// Nearest returns the known name that an unknown name was probably meant to be, or "" if no known name is similar.
func Nearest(unknown string, known []string) string {
	best, distance := "", 1+len(unknown)/3
	for _, name := range known {
		if len(unknown) > 2*len(name)+1 {
			continue // the distance is at least the difference in length, and comparing is quadratic
		}
		if d := editDistance(strings.ToLower(unknown), strings.ToLower(name)); d <= distance && (best == "" || d < distance) {
			best, distance = name, d
		}
	}
	return best
}

// editDistance returns the Levenshtein distance: the number of bytes to insert, delete or replace.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
