package charts

import (
	"strconv"
	"strings"

	"github.com/hamadryad/hamadryad/internal/svg"
)

// Bounds of a written name, in characters: in a title, and where several stand in one line.
const (
	titleMax = 1024
	shortMax = 40
)

// wide is the code point where scripts with double-width characters begin.
const wide = 0x1100

// name is a name in words.
func name(s string, most int) string {
	if strings.TrimSpace(s) == "" {
		return "(no name)"
	}
	return svg.Cut(s, most)
}

// fitted cuts a name to so many columns of a fixed font.
func fitted(s string, columns int) string {
	s = name(s, columns)
	for n := columns; ; n-- {
		width := 0
		for _, r := range s {
			width++
			if r >= wide && r != '…' && r != '\ufffd' {
				width++
			}
		}
		if width <= columns {
			return s
		}
		s = svg.Cut(s, n-1)
	}
}

// counted is a number with its noun: 1 node, 2 nodes.
func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

// listed joins the non-empty parts with commas.
func listed(parts ...string) string {
	all := parts[:0]
	for _, p := range parts {
		if p != "" {
			all = append(all, p)
		}
	}
	return strings.Join(all, ", ")
}

// some is a number with its noun; "" for 0.
func some(n int, what string) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n) + " " + what
}
