package mapreduce

// onePass yields the values of a key for a typed Reduce, once: they are read from a stream.
type onePass[V any] struct {
	values *Values
	decode func([]byte) (V, error)
	begun  bool
	over   bool // Reduce has returned, and the stream is at another key
	err    error
}

// A second pass would find nothing, or only the rest, and give a wrong result silently. So these
// uses panic.
const (
	errSecondPass = "mapreduce: Reduce ranges over the values of a key a second time, and they can be read once: do all in one pass; or keep them by slices.Collect, where those of a key fit in memory; or read them in pieces by iter.Pull"
	errLatePass   = "mapreduce: the values of a key are read after its Reduce has returned: keep what is needed later by slices.Collect"
)

func (p *onePass[V]) all(yield func(V) bool) {
	switch {
	case p.over:
		panic(errLatePass)
	case p.begun:
		panic(errSecondPass)
	}
	p.begun = true
	for {
		b, ok := p.values.Next()
		if !ok {
			return
		}
		v, err := p.decode(b)
		if err != nil {
			p.err = err
			return
		}
		if !yield(v) {
			return
		}
		if p.over { // the iterator is used through iter.Pull
			panic(errLatePass)
		}
	}
}
