package mapreduce

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"

	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/text"
)

// A job in total order has two more stages. The sample stage runs the job's mappers over small
// ranges, spread over the whole input, and keeps some of the keys. The boundaries stage, one node,
// picks keys that divide the pairs into ranges of about equal size; each map task reads them. Both
// stages are deterministic, so that a retried node finds the same boundaries.

const (
	// sampleRanges is roughly how many ranges of the input are sampled.
	sampleRanges = 64
	// sampleRangeBytes bounds what is read of a range.
	sampleRangeBytes = 64 << 10
	// samplersMax bounds the nodes of the sample stage.
	samplersMax = 8
	// sampleKeysMax and sampleBytesMax bound the keys that one sampler keeps, and samplePairsMax
	// the pairs that it examines: a compressed file is read from its beginning, whatever its range.
	sampleKeysMax  = 8192
	sampleBytesMax = 8 << 20
	samplePairsMax = 1 << 20
	// sampleShare is the divisor of a task's memory that gives the most bytes of all samples together.
	sampleShare = 4

	keysPort       = "keys"
	boundariesPort = "boundaries"
)

// keyOrder is the order in which ranges of keys go to reducers. It uses Group if that is set, so
// that no group is split, unless SplitKeys allows it.
func (j Bytes) keyOrder() func(a, b []byte) int {
	switch {
	case j.Group != nil && !j.SplitKeys:
		return j.Group
	case j.Compare != nil:
		return j.Compare
	}
	return bytes.Compare
}

// sampled adds the stages that find the boundaries, and connects them to the maps.
func (j Bytes) sampled(g *job.Graph, mapper *job.Stage, tasks []job.Task, reducers int, mapOf func(task int) mapFunc) {
	ranges, of := sampleTasks(tasks)
	sampler := g.Stage("sample", len(ranges), func(ctx context.Context, n *job.Node) error {
		t := j.newTask(ctx, n, job.Folder{}, 'm')
		t.sampling = true
		return sample(t, mapOf(of[n.Info().Index]))
	}).Read(ranges).Memory(j.Memory).Files(j.Files...)
	takeSlots(sampler, j.MapSlots, mapKind)
	if j.NoSuspend {
		sampler.NoSuspend() // it runs the mapper
	}
	boundaries := g.Stage("boundaries", 1, func(ctx context.Context, n *job.Node) error {
		return pickBoundaries(ctx, n, reducers, j.keyOrder(), j.SplitKeys)
	}).Memory(j.Memory)
	takeSlots(boundaries, j.MapSlots, mapKind)
	g.AllToAll(sampler.Out(keysPort), boundaries.In(keysPort), job.Channel{Kind: job.File})
	g.AllToAll(boundaries.Out(boundariesPort), mapper.In(boundariesPort), job.Channel{Kind: job.File})
}

// sampleTasks picks the ranges to be sampled: evenly spread tasks, and in each task ranges evenly
// spread over its splits. of[i] is the task of sampler i, which determines its mapper.
func sampleTasks(tasks []job.Task) (ranges []job.Task, of []int) {
	n := min(len(tasks), samplersMax)
	for i := range n {
		at := i * len(tasks) / n
		ranges, of = append(ranges, spread(tasks[at], max(sampleRanges/n, 1))), append(of, at)
	}
	return ranges, of
}

// spread cuts a task down to about n short ranges.
func spread(t job.Task, n int) job.Task {
	var out job.Task
	step := max(len(t)/n, 1)
	each := max(n/max(len(t), 1), 1)
	for i := 0; i < len(t); i += step {
		s := t[i]
		if text.IsCompressed(s.Path) || s.Length <= sampleRangeBytes {
			out = append(out, s)
			continue
		}
		for k := range each {
			r := s
			r.Offset = s.Offset + int64(k)*(s.Length/int64(each))
			r.Length = min(sampleRangeBytes, s.Length/int64(each))
			out = append(out, r)
		}
	}
	return out
}

// errEnough ends a sampling mapper.
var errEnough = errors.New("mapreduce: enough keys were sampled")

// keySample keeps a uniform random sample of the keys.
type keySample struct {
	most  int // bytes that are kept
	seen  int
	bytes int
	keys  [][]byte
	rng   *rand.Rand
}

// sampleBytes is how many bytes of keys a sampler keeps, for tasks of so much memory. The boundaries
// stage holds the samples of all.
func sampleBytes(memory int64) int {
	if memory <= 0 {
		return sampleBytesMax
	}
	return int(min(memory/(sampleShare*samplersMax), sampleBytesMax))
}

// Write adds a pair's key.
func (s *keySample) Write(key, _ []byte) error {
	if s.seen++; s.seen > samplePairsMax {
		return errEnough
	}
	if len(s.keys) < sampleKeysMax && s.bytes+len(key) <= s.most {
		s.keys, s.bytes = append(s.keys, bytes.Clone(key)), s.bytes+len(key)
		return nil
	}
	if at := s.rng.IntN(s.seen); at < len(s.keys) && s.bytes-len(s.keys[at])+len(key) <= s.most {
		s.bytes += len(key) - len(s.keys[at])
		s.keys[at] = append(s.keys[at][:0], key...)
	}
	return nil
}

// Close implements RecordWriter.
func (s *keySample) Close() error { return nil }

// sample is a node of the sample stage.
func sample(t *Task, mapper mapFunc) error {
	ctx, n := t.ctx, t.n
	s := &keySample{most: sampleBytes(n.Info().Memory), rng: rand.New(rand.NewPCG(1, uint64(n.Info().Index)))}
	e := &Emitter{ctx: ctx, direct: &Writer{format: s}}
	err := t.begin()
	if err == nil {
		err = mapper(t, e)
	}
	e.over = true
	if e.err != nil {
		err = e.err
	}
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	if err := t.finish(); err != nil {
		return err
	}
	return sendKeys(ctx, n, keysPort, s.keys)
}

// sendKeys sends keys to every partition of an output.
func sendKeys(ctx context.Context, n *job.Node, port string, keys [][]byte) error {
	out, err := n.Output(port)
	if err != nil {
		return err
	}
	for p := range out.Partitions() {
		for _, k := range keys {
			if err := out.Write(ctx, p, k); err != nil {
				return err
			}
		}
	}
	return nil
}

// receiveKeys reads all records of an input.
func receiveKeys(ctx context.Context, n *job.Node, port string) ([][]byte, error) {
	var keys [][]byte
	for b, err := range batches(ctx, n, port) {
		if err != nil {
			return nil, err
		}
		for k := range b.All() {
			keys = append(keys, bytes.Clone(k))
		}
	}
	return keys, nil
}
