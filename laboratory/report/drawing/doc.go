// Package drawing writes pictures as SVG: distributions, lines through points, stacked areas of
// what is held over time, and Gantt charts. They need nothing beside them, can be read on light and
// dark ground, and stand in HTML as they are. All that is written in them is escaped, and what
// would turn writing round is left out. The same values give the same bytes.
package drawing
