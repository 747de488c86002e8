package charts

// link joins two things by their numbers.
type link struct{ from, to int }

// layers gives each of n things its layer: 0 without incoming links, else one more than the highest
// layer with a link to it, the longest path. A cycle has no such layers; there the first thing that
// waits for itself is placed without its incoming links. A link that does not lead to a higher
// layer closes a cycle.
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
