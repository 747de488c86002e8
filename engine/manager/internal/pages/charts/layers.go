package charts

// link joins two things by their numbers.
type link struct{ from, to int }

// layers gives each of n things its layer: 0 where nothing leads to it, else one more than the
// highest of those that lead to it, the longest path. A graph that turns back on itself has
// none; there the first thing that waits for itself is placed without what it waits for. A
// link that does not lead to a higher layer is one of those.
func layers(n int, links []link) []int {
	before, next := make([]int, n), make([][]int, n)
	for _, l := range links {
		if l.from != l.to {
			before[l.to]++
			next[l.from] = append(next[l.from], l.to)
		}
	}
	layer, placed := make([]int, n), make([]bool, n)
	var ready []int
	for i := range n {
		if before[i] == 0 {
			ready = append(ready, i)
		}
	}
	for first := 0; ; {
		for len(ready) > 0 {
			at := ready[0]
			ready, placed[at] = ready[1:], true
			for _, to := range next[at] {
				if placed[to] {
					continue
				}
				layer[to] = max(layer[to], layer[at]+1)
				if before[to]--; before[to] == 0 {
					ready = append(ready, to)
				}
			}
		}
		for first < n && placed[first] {
			first++
		}
		if first == n {
			return layer
		}
		ready = append(ready, first)
	}
}
