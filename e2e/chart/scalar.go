package chart

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// scalar returns a scalar as YAML with template actions: the text of its line, and the lines of a block below it.
func scalar(value any) (line string, block []string) {
	switch v := value.(type) {
	case string:
		return text(v)
	case bool:
		return strconv.FormatBool(v), nil
	case float64:
		number := strconv.FormatFloat(v, 'f', -1, 64)
		if action, ok := marks()[number]; ok {
			return action, nil
		}
		return number, nil
	default:
		return "null", nil
	}
}

func text(s string) (line string, block []string) {
	if s == markMirrors { // it contains quotes
		return "{{ toJson .Values.mirrors | quote }}", nil
	}
	if strings.Contains(s, "\n") && s == strings.TrimLeft(s, " \n") && !strings.Contains(s, " \n") {
		switch trimmed := strings.TrimRight(s, "\n"); len(s) - len(trimmed) {
		case 0:
			return "|-", strings.Split(fill(trimmed), "\n")
		case 1:
			return "|", strings.Split(fill(trimmed), "\n")
		}
	}
	if safe().MatchString(s) && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"},
		strings.ToLower(s)) && fill(s) == s {
		return s, nil
	}
	return fill(inline(s)), nil
}

// safe matches strings that YAML does not read as another type or as an indicator.
func safe() *regexp.Regexp {
	return regexp.MustCompile(`^((--)?[A-Za-z/]([A-Za-z0-9_./=:-]*[A-Za-z0-9_./=-])?|[0-9]+(m|[KMG]iB?))$`)
}

func quoteKey(key string) string {
	if safe().MatchString(key) {
		return key
	}
	return inline(key)
}

// fill replaces marks by template actions. Other braces, such as in alerts, stay as they are in the rendered chart.
func fill(s string) string {
	s = strings.ReplaceAll(s, "{{", `{{ "{{" }}`)
	longestFirst := func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }
	for _, mark := range slices.SortedFunc(maps.Keys(marks()), longestFirst) {
		if mark != markPort { // appears only as a number
			s = strings.ReplaceAll(s, mark, marks()[mark])
		}
	}
	return s
}
