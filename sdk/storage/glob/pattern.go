// Package glob matches patterns of paths, alike for every store. A pattern is read element by
// element, between slashes:
//
//	?           one character
//	*           any characters
//	**          alone between slashes: any number of folders, also none
//	[ab] [a-z]  one of these; [^a] and [!a] any other one
//	{a,b/c}     each of these, which may hold slashes, patterns and braces again
//	\x          the character x itself
//
// Names that start with . or _ match only where the pattern spells that first character, and **
// does not enter such folders. A malformed pattern is an error; it never matches something else.
package glob

import (
	"fmt"
	"path"
	"strings"
)

// special are the characters that make a pattern.
const special = `*?[\{}`

// alternativesMax bounds the patterns that one pattern's braces expand to.
const alternativesMax = 1000

// Special reports whether a path holds a character that makes it a pattern.
func Special(path string) bool { return strings.ContainsAny(path, special) }

// parse expands a pattern's braces and returns each resulting pattern as its elements.
func parse(pattern string) ([][]string, error) {
	plain, err := expand(pattern)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", pattern, err)
	}
	all := make([][]string, len(plain))
	for i, p := range plain {
		for element := range strings.SplitSeq(p, "/") {
			if element == "" || element == "." {
				continue
			}
			if err := check(element); err != nil {
				return nil, fmt.Errorf("pattern %q: %w", pattern, err)
			}
			all[i] = append(all[i], strings.ReplaceAll(element, "[!", "[^"))
		}
	}
	return all, nil
}

// check refuses an element that path.Match would read differently.
func check(element string) error {
	switch {
	case element == "..":
		return fmt.Errorf("it holds ..: name the folder itself")
	case element == "**":
		return nil
	case strings.Contains(plainOf(element), "**"):
		return fmt.Errorf("%q: ** stands alone between slashes, as in logs/**/*.txt", element)
	case strings.Contains(element, "[:"):
		return fmt.Errorf("%q: named classes such as [:digit:] are not understood: write [0-9]", element)
	}
	if _, err := path.Match(strings.ReplaceAll(element, "[!", "[^"), ""); err != nil {
		return fmt.Errorf("%q: a [ is not closed, or a \\ has nothing behind it: write \\[ or \\\\ for the character itself", element)
	}
	return nil
}

// plainOf returns an element without its escapes and classes.
func plainOf(element string) string {
	var b strings.Builder
	for i := 0; i < len(element); i++ {
		switch end := skip(element, i); {
		case end > i:
			b.WriteByte(' ')
			i = end
		default:
			b.WriteByte(element[i])
		}
	}
	return b.String()
}

// skip returns the last byte of the escape or the class that begins at a byte, or that byte.
func skip(s string, at int) int {
	switch s[at] {
	case '\\':
		return min(at+1, len(s)-1)
	case '[':
		for i := at + 1; i < len(s); i++ {
			switch {
			case s[i] == '\\':
				i++
			case s[i] == '/':
				return at
			case s[i] == ']' && i > at+1:
				return i
			}
		}
	}
	return at
}

// expand returns the patterns without braces that a pattern stands for.
func expand(pattern string) ([]string, error) {
	begin, end, commas, err := braces(pattern)
	if err != nil || begin < 0 {
		return []string{pattern}, err
	}
	inside := pattern[begin+1 : end]
	if len(commas) == 0 && strings.Contains(inside, "..") {
		return nil, fmt.Errorf("the range {%s} is not understood: write each one, as in {1,2,3}", inside)
	}
	if inside == "" {
		return nil, fmt.Errorf("{} holds nothing: write \\{\\} for the characters themselves")
	}
	var all []string
	from := begin + 1
	for _, to := range append(commas, end) {
		more, err := expand(pattern[:begin] + pattern[from:to] + pattern[end+1:])
		if err != nil {
			return nil, err
		}
		if all = append(all, more...); len(all) > alternativesMax {
			return nil, fmt.Errorf("its braces stand for more than %d patterns: name fewer", alternativesMax)
		}
		from = to + 1
	}
	return all, nil
}

// braces finds the first braces and the commas between them; begin is negative if there are none.
func braces(s string) (begin, end int, commas []int, err error) {
	begin = -1
	depth := 0
	for i := 0; i < len(s); i++ {
		if last := skip(s, i); last > i {
			i = last
			continue
		}
		switch {
		case s[i] == '{':
			if depth++; depth == 1 {
				begin = i
			}
		case s[i] == '}' && depth == 0:
			return 0, 0, nil, fmt.Errorf("a } has no { before it: write \\} for the character itself")
		case s[i] == '}':
			if depth--; depth == 0 {
				return begin, i, commas, nil
			}
		case s[i] == ',' && depth == 1:
			commas = append(commas, i)
		}
	}
	if depth > 0 {
		return 0, 0, nil, fmt.Errorf("a { is not closed: write \\{ for the character itself")
	}
	return -1, 0, nil, nil
}
