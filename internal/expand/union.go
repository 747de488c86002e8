package expand

// union is a union-find over numbers, with path halving and union by size.
type union struct{ parent, size []int32 }

func newUnion(n int) *union {
	u := &union{parent: make([]int32, n), size: make([]int32, n)}
	for i := range u.parent {
		u.parent[i], u.size[i] = int32(i), 1
	}
	return u
}

func (u *union) find(x int32) int32 {
	for u.parent[x] != x {
		u.parent[x] = u.parent[u.parent[x]]
		x = u.parent[x]
	}
	return x
}

func (u *union) join(a, b int32) {
	a, b = u.find(a), u.find(b)
	if a == b {
		return
	}
	if u.size[a] < u.size[b] {
		a, b = b, a
	}
	u.parent[b] = a
	u.size[a] += u.size[b]
}

// numbered numbers the sets of the first n members in order of their least
// member, writes each member's number, and appends each set's size.
func (u *union) numbered(n int, number []int32, sizes *[]int32) int {
	of := make([]int32, len(u.parent))
	for i := range n {
		root := u.find(int32(i))
		if of[root] == 0 {
			*sizes = append(*sizes, 0)
			of[root] = int32(len(*sizes))
		}
		number[i] = of[root] - 1
		(*sizes)[number[i]]++
	}
	return len(*sizes)
}
