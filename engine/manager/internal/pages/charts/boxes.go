package charts

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
)

// box is drawn for a stage, or for several of one column that are not drawn one by one.
type box struct {
	stage
	column int
	stands int // for how many stages
	more   bool
}

// tie joins two boxes: connections of a channel and pattern.
type tie struct {
	link
	channel, pattern string
	stands           int // for how many connections
}

// boxes are a graph, reduced to a size that can be drawn.
type boxes struct {
	boxes               []box
	ties                []tie
	columns, layers     int
	stages, connections int // of the graph
	shown, shownTies    int // of these, the number drawn one by one, and the number that a tie stands for
}

// newBoxes makes a column of each layer that has stages to draw one by one, and one of all layers
// between two such. The other stages of a column share one box.
func newBoxes(all []stage, connections []restapi.Connection, most int) *boxes {
	b := &boxes{stages: len(all), connections: len(connections)}
	links, known := linksOf(all, connections)
	layer, one := layers(len(all), links), picked(all, most)
	column := b.makeColumns(layer, one)
	of, rest := make([]int, len(all)), map[int]int{}
	for i, s := range all {
		c := column[layer[i]]
		at, ok := rest[c]
		if one[i] || !ok {
			at = len(b.boxes)
			b.boxes = append(b.boxes, box{stage: stage{name: s.name}, column: c, more: !one[i]})
			if !one[i] {
				rest[c] = at
			}
		}
		b.boxes[at].add(s)
		b.boxes[at].stands++
		of[i] = at
		if one[i] {
			b.shown++
		}
	}
	for i := range b.boxes {
		if x := &b.boxes[i]; x.more {
			x.name = counted(x.stands, "more stage")
		}
	}
	b.tie(links, known, of)
	return b
}

// linksOf lists the connections between existing stages.
func linksOf(all []stage, connections []restapi.Connection) (links []link, known []restapi.Connection) {
	number := make(map[string]int, len(all))
	for i, s := range slices.Backward(all) {
		number[s.name] = i
	}
	for _, c := range connections {
		from, fromOK := number[c.From]
		if to, ok := number[c.To]; ok && fromOK {
			links, known = append(links, link{from, to}), append(known, c)
		}
	}
	return links, known
}

// makeColumns returns the column of each layer.
func (b *boxes) makeColumns(layer []int, one []bool) []int {
	for _, l := range layer {
		b.layers = max(b.layers, l+1)
	}
	shown := make([]bool, b.layers)
	for i, l := range layer {
		shown[l] = shown[l] || one[i]
	}
	column := make([]int, b.layers)
	for l := range column {
		if l > 0 && (shown[l] || shown[l-1]) {
			b.columns++
		}
		column[l] = b.columns
	}
	b.columns = min(b.columns+1, b.layers)
	return column
}

// tie joins the boxes, near ones first. Links from right to left, in a graph with cycles, aren't
// drawn.
func (b *boxes) tie(links []link, connections []restapi.Connection, of []int) {
	at := map[tie]int{}
	for i, l := range links {
		t := tie{link: link{of[l.from], of[l.to]}, channel: string(connections[i].Channel), pattern: string(connections[i].Pattern)}
		if b.boxes[t.from].column >= b.boxes[t.to].column {
			continue
		}
		k, ok := at[t]
		if !ok {
			k = len(b.ties)
			at[t] = k
			b.ties = append(b.ties, t)
		}
		b.ties[k].stands++
	}
	slices.SortFunc(b.ties, func(x, y tie) int {
		return cmp.Or(cmp.Compare(b.span(x), b.span(y)), cmp.Compare(x.from, y.from), cmp.Compare(x.to, y.to), cmp.Compare(x.channel, y.channel), cmp.Compare(x.pattern, y.pattern))
	})
}

// span is how many columns a tie leads on.
func (b *boxes) span(t tie) int { return b.boxes[t.to].column - b.boxes[t.from].column }

// bound keeps so many ties, with at most so many bends in the columns between.
func (b *boxes) bound(ties, bends int) {
	for i, t := range b.ties {
		if bends -= b.span(t) - 1; i == ties || bends < 0 {
			b.ties = b.ties[:i]
			return
		}
		b.shownTies += t.stands
	}
}
