package charts

import (
	"cmp"
	"slices"
)

// sweeps is how often the columns are ordered from the left and from the right.
const sweeps = 6

// grid is items in columns: items by number, with links between neighbouring columns only.
type grid struct {
	columns     [][]int // items from above
	left, right [][]int // by item: the items of the next column that it is joined with
	at          []int   // by item: its place in its column
}

func newGrid(columns [][]int, links []link) *grid {
	n := 0
	for _, c := range columns {
		n += len(c)
	}
	g := &grid{columns: columns, left: make([][]int, n), right: make([][]int, n), at: make([]int, n)}
	for _, l := range links {
		g.right[l.from] = append(g.right[l.from], l.to)
		g.left[l.to] = append(g.left[l.to], l.from)
	}
	for _, c := range columns {
		g.place(c)
	}
	return g
}

func (g *grid) place(column []int) {
	for i, item := range column {
		g.at[item] = i
	}
}

// order orders the columns so that few links cross: each item goes to the mean place of the items
// it is joined with, in sweeps from both sides (the barycentre method of Sugiyama, Tagawa and Toda,
// 1981, section 5). It keeps the best order found.
func (g *grid) order() {
	best, fewest := g.copied(), g.crossings()
	for sweep := range sweeps {
		if fewest == 0 {
			break
		}
		if sweep%2 == 0 {
			for _, c := range g.columns {
				g.sort(c, g.left)
			}
		} else {
			for _, c := range slices.Backward(g.columns) {
				g.sort(c, g.right)
			}
		}
		if n := g.crossings(); n < fewest {
			best, fewest = g.copied(), n
		}
	}
	g.columns = best
	for _, c := range g.columns {
		g.place(c)
	}
}

func (g *grid) copied() [][]int {
	all := make([][]int, len(g.columns))
	for i, c := range g.columns {
		all[i] = slices.Clone(c)
	}
	return all
}

// sort orders a column by the places of the items that its items are joined with on a side. An item
// without such links stays near its place.
func (g *grid) sort(column []int, side [][]int) {
	mean := make(map[int]float64, len(column))
	for i, item := range column {
		mean[item] = float64(i)
		if n := len(side[item]); n > 0 {
			sum := 0
			for _, other := range side[item] {
				sum += g.at[other]
			}
			mean[item] = float64(sum) / float64(n)
		}
	}
	slices.SortStableFunc(column, func(a, b int) int { return cmp.Compare(mean[a], mean[b]) })
	g.place(column)
}

// crossings counts the pairs of crossing links: in the order of their left ends, those whose right
// ends are the other way round.
func (g *grid) crossings() (n int) {
	for i := range len(g.columns) - 1 {
		// tree counts the right ends so far, by place (Fenwick, 1994).
		tree, all := make([]int, len(g.columns[i+1])+1), 0
		for _, item := range g.columns[i] {
			ends := g.right[item]
			for _, other := range ends {
				n += all
				for at := g.at[other] + 1; at > 0; at &= at - 1 {
					n -= tree[at]
				}
			}
			for _, other := range ends {
				all++
				for at := g.at[other] + 1; at < len(tree); at += at & -at {
					tree[at]++
				}
			}
		}
	}
	return n
}
