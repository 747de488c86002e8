package charts

import (
	"cmp"
	"math"
	"slices"
)

// rounds is how often items are drawn towards the items they are joined with, from each side.
const rounds = 4

// heights finds the height of each item's middle, counted from above, 0 or more: as near as may be
// to the items it is joined with, in the columns' order. Items don't cover each other in their
// columns, and no height is empty in all.
func (g *grid) heights(height []int) []int {
	middle := make([]float64, len(height))
	for _, c := range g.columns {
		g.placeColumn(c, nil, height, middle)
	}
	for range rounds {
		for _, c := range g.columns {
			g.placeColumn(c, g.left, height, middle)
		}
		for _, c := range slices.Backward(g.columns) {
			g.placeColumn(c, g.right, height, middle)
		}
	}
	return packed(middle, height)
}

// packed moves items up into the space that is empty in all columns.
func packed(middle []float64, height []int) []int {
	all, items := make([]int, len(height)), make([]int, len(height))
	for i, m := range middle {
		all[i], items[i] = int(math.Round(m))-height[i]/2, i
	}
	slices.SortStableFunc(items, func(a, b int) int { return cmp.Compare(all[a], all[b]) })
	if len(items) == 0 {
		return nil
	}
	up := all[items[0]]
	bottom := up // the former bottom of the items above
	for _, i := range items {
		up += max(all[i]-bottom, 0)
		bottom = max(bottom, all[i]+height[i])
		all[i] += height[i]/2 - up
	}
	return all
}

// placeColumn places a column: each item would be at the mean of the items it is joined with on a
// side. If items would cover each other, they share the shift. That is least squares with a fixed
// order, found by pooling neighbours (Ayer and others, 1955).
func (g *grid) placeColumn(column []int, side [][]int, height []int, middle []float64) {
	type pool struct{ sum, n float64 }
	pools, offset := []pool{}, make([]float64, len(column))
	for i, item := range column {
		if i > 0 {
			before := column[i-1]
			offset[i] = offset[i-1] + float64(height[before]-height[before]/2+height[item]/2)
		}
		p := pool{wanted(item, side, middle) - offset[i], 1}
		for k := len(pools) - 1; k >= 0 && pools[k].sum/pools[k].n >= p.sum/p.n; k-- {
			p = pool{p.sum + pools[k].sum, p.n + pools[k].n}
			pools = pools[:k]
		}
		pools = append(pools, p)
	}
	i := 0
	for _, p := range pools {
		at := math.Round(p.sum / p.n)
		for range int(p.n) {
			middle[column[i]] = at + offset[i]
			i++
		}
	}
}

// wanted is an item's place if it were alone.
func wanted(item int, side [][]int, middle []float64) float64 {
	if side == nil || len(side[item]) == 0 {
		return middle[item]
	}
	sum := 0.0
	for _, other := range side[item] {
		sum += middle[other]
	}
	return sum / float64(len(side[item]))
}
