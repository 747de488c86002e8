// Package drawing writes pictures as SVG: distributions, lines through points, stacked areas of
// what is held over time, and Gantt charts. They need no other files, can be read on light and dark
// backgrounds, and can be embedded in HTML. All text in them is escaped, and bidirectional control
// characters are left out. The same values give the same bytes.
package drawing
