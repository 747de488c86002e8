package view

import "slices"

// gainsMax bounds how many gains of a kind are kept: who looked before the earliest of them
// looks at all launchers again.
const gainsMax = 1 << 14

// gains are the launchers that came to have a free slot of a kind, in order, one as often as
// it did. Who found nothing once need only look at these when it looks again. They are
// kept from when somebody has looked.
type gains struct {
	list      []int32 // places
	forgotten uint64  // how many were before the list
	kept      bool
}

func (g *gains) add(place int) {
	if len(g.list) == gainsMax {
		g.forgotten += gainsMax / 2
		g.list = slices.Delete(g.list, 0, gainsMax/2)
	}
	g.list = append(g.list, int32(place)) //nolint:gosec // there are fewer launchers
}

// lookedAt is until when launchers with a free slot of a kind were looked at, and none was
// near. The zero value is: never.
type lookedAt struct {
	built uint64 // of where; 0: never
	gains uint64 // how many there had been
}

// since returns the places of the launchers that came to have a free slot of a kind since
// they were looked at; false when that is not known.
func (x *where) since(kind int, at lookedAt) ([]int32, bool) {
	g := &x.kinds[kind].gains
	if at.built != x.built || at.gains < g.forgotten {
		return nil, false
	}
	return g.list[at.gains-g.forgotten:], true
}

// now is the lookedAt of who has looked at all launchers with a free slot of a kind.
func (x *where) now(kind int) lookedAt {
	g := &x.kinds[kind].gains
	g.kept = true
	return lookedAt{x.built, g.forgotten + uint64(len(g.list))}
}
