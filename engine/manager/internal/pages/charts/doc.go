// Package charts draws parts of the manager's pages as SVG. Graph has a job's stages and what joins
// them, Timeline what ran when, and Histogram how long attempts ran. They stand in HTML as they
// are, and need neither JavaScript nor anything beside them but Style.
//
//	page.Graph = charts.Graph(graph, job.Stages)
//
// All functions are pure and safe for concurrent use; the same input gives the same bytes.
// Names may hold anything: nothing but text comes out. Sizes are bounded, and what is left
// out is said in the drawing. Who does not see it hears the same: drawings have a label in
// words, and parts have titles. Colour is never the only sign of anything.
package charts
