package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/elements"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// PlacesMax is how many places of a node's input are sent to the manager: those that hold most of
// it.
const PlacesMax = 8

// Build runs a definition's builder with the results that its plan recorded, and returns the graph.
// It fails if the builder asks for other inputs or outputs than at submission. The caller compares
// the stages by Fingerprint.
func Build(defs []job.Definition, p *Submission) (*job.Graph, error) {
	i := slices.IndexFunc(defs, func(d job.Definition) bool { return d.Name == p.Name })
	if i < 0 {
		return nil, fmt.Errorf("this program has no job %q: it is not the one that was submitted", p.Name)
	}
	var e job.Elements
	if p.Elements != "" {
		var err error
		if e, err = job.ParseElements(p.Elements); err != nil {
			return nil, fmt.Errorf("the plan's elements: %w", err)
		}
	}
	g, err := job.Build(defs[i], p.Args, job.WithElements(job.Recorded(p.Inputs, p.Folders), e))
	if err != nil {
		return nil, err
	}
	if len(g.Planned()) != len(p.Inputs) || len(g.Outputs()) != len(p.Folders) {
		return nil, fmt.Errorf("job %s: the builder asked for %d inputs and %d output folders, and the first time for %d and %d: it builds another graph the second time",
			p.Name, len(g.Planned()), len(g.Outputs()), len(p.Inputs), len(p.Folders))
	}
	return g, nil
}

// Graph makes the messages of a graph.
func Graph(g *job.Graph) (*wire.Graph, error) {
	w, err := Structure(g)
	if err != nil {
		return nil, err
	}
	nodes := 0
	for _, s := range g.Stages() {
		nodes += len(s.Spec().Tasks)
	}
	most := max(1, min(PlacesMax, placesInAllMax/max(nodes, 1)))
	for i, s := range g.Stages() {
		for _, task := range s.Spec().Tasks {
			w.Stages[i].Inputs = append(w.Stages[i].Inputs, &wire.NodeInput{Bytes: task.Bytes(), Places: places(task, most)})
		}
	}
	return w, nil
}

// placesInAllMax bounds the places of a graph. In a graph with very many nodes each keeps fewer
// than PlacesMax, so that it stays within wire.GraphBytesMax.
const placesInAllMax = 4_000_000

// Structure makes the messages of a graph without its nodes' inputs.
func Structure(g *job.Graph) (*wire.Graph, error) {
	w := &wire.Graph{}
	for _, s := range g.Stages() {
		stage, err := wireStage(s.Spec())
		if err != nil {
			return nil, err
		}
		w.Stages = append(w.Stages, stage)
	}
	for _, c := range g.Connections() {
		edges := make([]*wire.Edge, len(c.Edges))
		for i, e := range c.Edges {
			edges[i] = &wire.Edge{From: uint32(e.From), To: uint32(e.To)}
		}
		w.Connections = append(w.Connections, &wire.Connection{
			FromStage: uint32(c.From.Stage.Spec().ID), FromPort: c.From.Name,
			ToStage: uint32(c.To.Stage.Spec().ID), ToPort: c.To.Name,
			// The numbers of job's patterns, kinds and codecs are those of the messages.
			Pattern: wire.Pattern(c.Pattern), Kind: wire.ChannelKind(c.Channel.Kind), Codec: wire.Codec(c.Channel.Codec),
			SlowStart: c.Channel.SlowStart, Edges: edges, Store: c.Channel.Store, Adapt: wireAdapt(c.Channel.Adapt), Aggregate: wireAggregate(c.Channel.Aggregate),
		})
	}
	return w, nil
}

func wireAdapt(a job.Adapt) *wire.Adapt {
	if a == (job.Adapt{}) {
		return nil
	}
	return &wire.Adapt{Partitions: uint32(min(max(a.Partitions, 0), math.MaxUint32)), Bytes: a.Bytes, Split: a.Split}
}

func wireAggregate(a job.Aggregate) *wire.Aggregate {
	if a == (job.Aggregate{}) {
		return nil
	}
	return &wire.Aggregate{Level: wire.Level(a.By), Bytes: a.Bytes} // the numbers of levels are those of the messages
}

// KeepChannels sets the store of all file channels that name none to a folder.
func KeepChannels(g *wire.Graph, folder string) {
	for _, c := range g.Connections {
		if c.Kind == wire.ChannelKind_CHANNEL_KIND_FILE && c.Store == "" {
			c.Store = folder
		}
	}
}

// GiveMemory sets the memory of stages' nodes, in place of the program's request. It fails if a
// named stage does not exist.
func GiveMemory(g *wire.Graph, memory Memory) error {
	names := map[string]bool{"": true}
	for _, s := range g.Stages {
		names[s.Name] = true
		if bytes, named := memory[s.Name]; named {
			s.Memory = bytes
		} else if bytes, all := memory[""]; all {
			s.Memory = bytes
		}
	}
	for _, name := range slices.Sorted(maps.Keys(memory)) {
		if !names[name] {
			delete(names, "")
			return fmt.Errorf("memory for stage %q, which the job does not have: its stages are %s", name, strings.Join(slices.Sorted(maps.Keys(names)), ", "))
		}
	}
	return nil
}

// Kinds are slot kinds by name of stage.
type Kinds map[string]string

// GiveKinds sets the slot kinds of stages, in place of the program's request. It fails if a named
// stage does not exist.
func GiveKinds(g *wire.Graph, kinds Kinds) error {
	names := map[string]bool{}
	for _, s := range g.Stages {
		names[s.Name] = true
		if kind, named := kinds[s.Name]; named {
			s.Kind, s.PreferKind = kind, ""
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		if !names[name] {
			return fmt.Errorf("slots for stage %q, which the job does not have: its stages are %s", name, strings.Join(slices.Sorted(maps.Keys(names)), ", "))
		}
	}
	return nil
}

// Attempts are how often a group of a stage may fail before its job does, by name of stage; ""
// stands for all stages that are not named.
type Attempts map[string]uint32

// GiveAttempts sets how often groups of stages may fail, in place of the program's request. It fails
// if a named stage does not exist. The number for "" is the submission's: the program's requests give
// way to it.
func GiveAttempts(g *wire.Graph, attempts Attempts) error {
	names := map[string]bool{}
	for _, s := range g.Stages {
		names[s.Name] = true
		if n, named := attempts[s.Name]; named {
			s.AttemptsMax = n
		} else if attempts[""] > 0 {
			s.AttemptsMax = 0
		}
	}
	for _, name := range slices.Sorted(maps.Keys(attempts)) {
		if name != "" && !names[name] {
			return fmt.Errorf("attempts for stage %q, which the job does not have: its stages are %s", name, strings.Join(slices.Sorted(maps.Keys(names)), ", "))
		}
	}
	return nil
}

// Resources are the countable resources of a node, by name of stage; "" stands for all stages that
// are not named.
type Resources map[string]scheduler.Resources

// GiveResources sets the countable resources of stages' nodes, in place of the program's request. It
// fails if a named stage does not exist.
func GiveResources(g *wire.Graph, resources Resources) error {
	names := map[string]bool{}
	for _, s := range g.Stages {
		names[s.Name] = true
		if r, named := resources[s.Name]; named {
			s.Resources = wire.ResourceCounts(r)
		} else if r, all := resources[""]; all {
			s.Resources = wire.ResourceCounts(r)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(resources)) {
		if name != "" && !names[name] {
			return fmt.Errorf("resources for stage %q, which the job does not have: its stages are %s", name, strings.Join(slices.Sorted(maps.Keys(names)), ", "))
		}
	}
	return nil
}

// Expected are how long tasks are expected to run, by name of stage.
type Expected map[string]time.Duration

// GiveExpected sets how long stages' tasks are expected to run, in place of what the program says. It
// fails if a named stage does not exist.
func GiveExpected(g *wire.Graph, expected Expected) error {
	names := map[string]bool{}
	for _, s := range g.Stages {
		names[s.Name] = true
		if d, named := expected[s.Name]; named {
			s.ExpectedNs = int64(d)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(expected)) {
		if !names[name] {
			return fmt.Errorf("expected time of stage %q, which the job does not have: its stages are %s", name, strings.Join(slices.Sorted(maps.Keys(names)), ", "))
		}
	}
	return nil
}

func wireStage(s job.StageSpec) (*wire.Stage, error) {
	if s.Slots < 0 || s.Slots > math.MaxUint16 {
		return nil, fmt.Errorf("stage %q takes %d slots: use 1 to %d", s.Name, s.Slots, math.MaxUint16)
	}
	if s.Memory < 0 {
		return nil, fmt.Errorf("stage %q has %d bytes of memory: use 0 for the site's default, or more", s.Name, s.Memory)
	}
	if s.Attempts < 0 || s.Attempts > wire.StageAttemptsMax {
		return nil, fmt.Errorf("stage %q may be tried %d times: use 0 for the site's default, or up to %d", s.Name, s.Attempts, wire.StageAttemptsMax)
	}
	w := &wire.Stage{
		AttemptsMax: uint32(s.Attempts), ExpectedNs: int64(s.Expected),
		Name: s.Name, Nodes: uint32(s.Nodes), Kind: s.Kind, PreferKind: s.PreferKind, Slots: uint32(s.Slots),
		Memory: s.Memory, Resources: wire.ResourceCounts(s.Resources), Shuffles: s.Shuffles, OwnProcess: s.OwnProcess, NoSuspend: s.NoSuspend,
	}
	if s.Elements.Count() > 0 {
		set, err := elements.Parse(s.Elements.Indices())
		if err != nil {
			return nil, fmt.Errorf("stage %q: %w", s.Name, err)
		}
		w.Elements = &wire.Elements{Ranges: wire.ElementRanges(set), AtOnce: uint32(s.Elements.AtOnce())}
	}
	if s.Command != nil {
		w.Command = s.Command.Args[0]
	}
	return w, nil
}

// places sums a task's bytes by host. It keeps the hosts that hold most, ordered by bytes, then by
// name.
func places(task job.Task, most int) []*wire.Place {
	var sums []*wire.Place
	byHost := map[string]*wire.Place{}
	for _, s := range task {
		for _, p := range s.Places {
			host := strings.ToLower(p.Host) // launchers' hosts are in lower case, too
			sum := byHost[host]
			if sum == nil {
				sum = &wire.Place{Host: host, Rack: p.Rack}
				byHost[host] = sum
				sums = append(sums, sum)
			}
			sum.Bytes += p.Bytes
		}
	}
	slices.SortFunc(sums, func(a, b *wire.Place) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Host, b.Host))
	})
	return sums[:min(len(sums), most)]
}

// Fingerprint is a digest of a graph's structure: stages, their requests, and connections. It
// covers how much each node reads, and not where that lies.
func Fingerprint(g *wire.Graph) []byte {
	return fingerprint(g, func(stage int) (int, func(int) int64) {
		inputs := g.Stages[stage].Inputs
		return len(inputs), func(i int) int64 { return inputs[i].GetBytes() }
	})
}

// FingerprintOf is the Fingerprint of a graph of which only the Structure was made.
func FingerprintOf(structure *wire.Graph, g *job.Graph) []byte {
	stages := g.Stages()
	return fingerprint(structure, func(stage int) (int, func(int) int64) {
		tasks := stages[stage].Spec().Tasks
		return len(tasks), func(i int) int64 { return tasks[i].Bytes() }
	})
}

// fingerprint leaves out slot kinds, countable resources, numbers of attempts and expected times, which
// the submitter may change. inputs returns a stage's number of inputs, and a function for the bytes of each.
func fingerprint(g *wire.Graph, inputs func(stage int) (int, func(i int) int64)) []byte {
	d := digest{sha256.New()}
	d.number(len(g.Stages))
	for i, s := range g.Stages {
		count, bytes := inputs(i)
		d.text(s.Name)
		d.text(s.Command)
		d.number(s.Nodes, s.Slots, s.Memory, s.Shuffles, s.OwnProcess, count)
		var buf [8]byte
		for i := range count {
			binary.LittleEndian.PutUint64(buf[:], uint64(bytes(i)))
			d.Write(buf[:])
		}
	}
	d.number(len(g.Connections))
	for _, c := range g.Connections {
		d.text(c.FromPort)
		d.text(c.ToPort)
		d.text(c.Store)
		d.number(c.FromStage, c.ToStage, int32(c.Pattern), int32(c.Kind), int32(c.Codec), c.SlowStart, len(c.Edges))
		for _, e := range c.Edges {
			d.number(e.From, e.To)
		}
		if a := c.Adapt; a != nil { // others have the fingerprint that they had before there was this
			d.number(a.Partitions, a.Bytes, a.Split)
		}
		if a := c.Aggregate; a != nil { // likewise
			d.number(int32(a.Level), a.Bytes)
		}
	}
	return d.Sum(nil)
}

// digest hashes values so that no two lists of values hash the same bytes. Each number takes eight
// bytes, and each text is led by its length.
type digest struct{ hash.Hash }

func (d digest) number(values ...any) {
	var buf [8]byte
	for _, v := range values {
		var n uint64
		switch v := v.(type) {
		case int:
			n = uint64(v)
		case int32:
			n = uint64(v)
		case int64:
			n = uint64(v)
		case uint32:
			n = uint64(v)
		case float64:
			n = math.Float64bits(v)
		case bool:
			if v {
				n = 1
			}
		default:
			panic(fmt.Sprintf("plan: no digest of a %T", v))
		}
		binary.LittleEndian.PutUint64(buf[:], n)
		d.Write(buf[:])
	}
}

func (d digest) text(s string) {
	d.number(len(s))
	d.Write([]byte(s))
}
