package estimation

import (
	"slices"

	"github.com/hamadryad/hamadryad/plugins/hfsp/binenc"
)

// measuresMax bounds the samples that Load reads for a stage.
const measuresMax = 1 << 16

// Save writes what was learnt of a stage. The caller keeps its kind, number of tasks and slots.
func (s *Stage) Save(w *binenc.Writer) {
	w.Bool(s.Guess != nil)
	if s.Guess != nil {
		w.Float(*s.Guess)
	}
	w.Uint(uint64(len(s.Samples)))
	for _, m := range s.Samples {
		m.save(w)
	}
	w.Uint(uint64(len(s.Running)))
	for _, r := range s.Running {
		w.Uint(r.Task)
		w.Float(r.Progress)
		r.Measure.save(w)
	}
	w.Uint(uint64(max(s.Later, 0)))
	w.Float(s.LaterSeconds)
}

// Load reads what Save wrote of the stage. It replaces invalid values by the nearest valid ones.
func (s *Stage) Load(r *binenc.Reader) {
	s.Guess, s.Samples, s.Running = nil, nil, nil
	if r.Bool() {
		guess := length(r.Float())
		s.Guess = &guess
	}
	for range r.Count(measuresMax) {
		if m := readMeasure(r); r.Err() == nil {
			s.Samples = append(s.Samples, m)
		}
	}
	for range r.Count(measuresMax) {
		x := Running{Task: r.Uint(), Progress: r.Float()}
		x.Measure = readMeasure(r)
		next := len(s.Running) == 0 || s.Running[len(s.Running)-1].Task < x.Task
		if r.Err() == nil && x.Progress > 0 && next {
			x.Progress = min(x.Progress, 1)
			s.Running = append(s.Running, x)
		}
	}
	s.Later = r.Count(1 << 31)
	s.LaterSeconds = min(max(r.Float(), 0), 2*LengthMax*float64(s.Later))
	if !(s.LaterSeconds >= 0) { // NaN
		s.Later, s.LaterSeconds = 0, 0
	}
}

func (m Measure) save(w *binenc.Writer) {
	w.Float(m.Shuffle)
	w.Float(m.Execute)
	w.Int(m.Bytes)
}

func readMeasure(r *binenc.Reader) Measure {
	return Measure{Shuffle: r.Float(), Execute: r.Float(), Bytes: r.Int()}.bounded()
}

// Save writes a mean.
func (m Mean) Save(w *binenc.Writer) {
	w.Text(m.Kind.Slots)
	w.Bool(m.Kind.Shuffles)
	w.Uint(uint64(max(m.Tasks, 0)))
	w.Float(m.Seconds)
}

// Load reads a mean that Save wrote, and replaces the mean of its kind.
func (p *Past) Load(r *binenc.Reader) {
	m := Mean{Kind: Kind{Slots: r.Text(), Shuffles: r.Bool()}, Tasks: min(r.Count(1<<31), weightMax), Seconds: length(r.Float())}
	if r.Err() != nil || m.Tasks == 0 {
		return
	}
	if i, found := p.find(m.Kind); found {
		(*p)[i] = m
	} else if len(*p) < kindsMax {
		*p = slices.Insert(*p, i, m)
	}
}

// Save implements Keeper.
func (e *Sampling) Save(w *binenc.Writer, whole bool) {
	if whole || e.saved == nil {
		e.saved = map[Kind]Mean{}
	}
	for _, m := range e.Past {
		if e.saved[m.Kind] != m {
			e.saved[m.Kind] = m
			m.Save(w)
		}
	}
}

// Load implements Keeper.
func (e *Sampling) Load(r *binenc.Reader) {
	for r.More() {
		e.Past.Load(r)
	}
}

// SaveStage implements Keeper.
func (e *Sampling) SaveStage(s *Stage, w *binenc.Writer) { s.Save(w) }

// LoadStage implements Keeper.
func (e *Sampling) LoadStage(s *Stage, r *binenc.Reader) { s.Load(r) }
