package job

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/job/elements"
)

// ElementsMax is the largest number of elements of a job array.
const ElementsMax = elements.Max

// Elements are the elements of a job array: their indices, and how many of them may run at once.
// The zero value is that of no array. It does not change.
type Elements struct {
	set    elements.Set
	atOnce int // 0: all
}

// ParseElements reads the indices of a job array, each once, in any order: 0-99, each fifth of
// them (0-99:5), or a list (1,3,7-9). An end such as %50 lets at most 50 elements run at once. The
// error says what is wrong.
func ParseElements(text string) (Elements, error) {
	indices, most, bounded := strings.Cut(text, "%")
	set, err := elements.Parse(indices)
	if err != nil {
		return Elements{}, err
	}
	e := Elements{set: set}
	if bounded {
		n, err := strconv.ParseUint(most, 10, 31)
		if err != nil || n == 0 || n > ElementsMax {
			return Elements{}, fmt.Errorf("%%%.100s is no number of elements at once: write it like 0-99%%50, from 1 to %d", most, ElementsMax)
		}
		e.atOnce = int(n)
	}
	return e, nil
}

// Count returns how many elements there are.
func (e Elements) Count() int { return e.set.Len() }

// Index returns the index of the i-th element, from 0 to below Count.
func (e Elements) Index(i int) int { return int(e.set.At(i)) }

// AtOnce returns how many elements may be ready or run at once; 0: all.
func (e Elements) AtOnce() int { return e.atOnce }

// Indices writes the indices as ParseElements reads them.
func (e Elements) Indices() string { return e.set.String() }

// String writes the elements as ParseElements reads them.
func (e Elements) String() string {
	if e.atOnce == 0 {
		return e.set.String()
	}
	return fmt.Sprintf("%s%%%d", e.set, e.atOnce)
}

// Elements returns the elements that the submitter names with --array, or with WithElements; none,
// if neither was given. A builder makes an array of them:
//
//	e := g.Elements()
//	g.Stage("run", e.Count(), run).Elements(e)
//
// A job whose builder does not call it refuses --array.
func (g *Graph) Elements() Elements {
	g.elementsRead = true
	return g.given()
}

// given returns the elements that the submitter names.
func (g *Graph) given() Elements {
	if p, is := g.planner.(withElements); is {
		return p.elements
	}
	return Elements{}
}

// WithElements returns a Planner that also gives a builder its elements (Graph.Elements).
func WithElements(p Planner, e Elements) Planner { return withElements{p, e} }

type withElements struct {
	Planner
	elements Elements
}

// Elements makes the stage's nodes the elements of a job array, of which there must be as many.
// When the attempts of an element are used up, or a person kills it, the others go on. The job ends
// when all elements have ended, and fails if one did not succeed. Its outputs have the files of the
// elements that succeeded. A job has one such stage, and no connection joins it with others.
func (s *Stage) Elements(e Elements) *Stage { s.elements = e; return s }

// checkElements finds errors in the graph's job array.
func (g *Graph) checkElements() {
	var array *Stage
	if g.given().Count() > 0 && !g.elementsRead {
		g.errorf("it takes no --array: its builder does not call Graph.Elements")
	}
	for _, s := range g.stages {
		if s.elements.Count() == 0 {
			continue
		}
		if array != nil {
			g.errorf("the stages %q and %q both have elements: a job has one array", array.name, s.name)
		}
		if array = s; s.nodes != s.elements.Count() {
			g.errorf("stage %q has %d nodes and %d elements: give each node one", s.name, s.nodes, s.elements.Count())
		}
	}
	for _, c := range g.connections {
		if array != nil && (c.From.Stage == array || c.To.Stage == array) {
			g.errorf("stage %q has elements, and a connection joins it with another stage: put what comes before or after it into a job of its own", array.name)
		}
	}
}
