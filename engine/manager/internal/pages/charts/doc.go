// Package charts draws parts of the manager's pages as SVG. Graph has a job's stages and their
// connections, Timeline the running attempts over time, and Histogram the durations of attempts.
// They are embedded in HTML as they are, and need neither JavaScript nor anything beside them but
// Style.
//
//	page.Graph = charts.Graph(graph, job.Stages)
//
// All functions are pure and safe for concurrent use; the same input gives the same bytes. Names
// may hold any text: the output escapes it. Sizes are bounded, and the drawing says what is left
// out. Screen readers get the same: drawings have a label in words, and parts have titles. Colour
// is never the only sign of anything.
package charts
