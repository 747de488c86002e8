package graph

import (
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// validate checks everything that can be checked without expanding.
func validate(g *wire.Graph, l Limits) error {
	switch {
	case len(g.GetStages()) == 0:
		return fmt.Errorf("the graph has no stage: add one")
	case len(g.Stages) > l.Stages:
		return fmt.Errorf("the graph has %d stages, at most %d are allowed: join some", len(g.Stages), l.Stages)
	case len(g.Connections) > l.Connections:
		return fmt.Errorf("the graph has %d connections, at most %d are allowed: join some", len(g.Connections), l.Connections)
	}
	names := map[string]bool{}
	nodes := 0
	for i, s := range g.Stages {
		if err := validateStage(i, s, l); err != nil {
			return err
		}
		if names[s.Name] {
			return fmt.Errorf("two stages are called %q: rename one", s.Name)
		}
		names[s.Name] = true
		if nodes += int(s.Nodes); int64(s.Nodes) > int64(l.Nodes) || nodes > l.Nodes {
			return fmt.Errorf("stage %q brings the job to more than %d nodes, which is the limit: give each node more to do", s.Name, l.Nodes)
		}
	}
	if err := validateArray(g); err != nil {
		return err
	}
	edges := 0
	ports := map[[4]string]bool{}
	for i, c := range g.Connections {
		if c == nil {
			return fmt.Errorf("connection %d is empty", i)
		}
		if edges += len(c.Edges); edges > l.Edges {
			return fmt.Errorf("connection %d brings the job to more than %d listed edges, which is the limit: use a pattern", i, l.Edges)
		}
		if err := validateConnection(g, i, c, l); err != nil {
			return err
		}
		key := [4]string{g.Stages[c.FromStage].Name, c.FromPort, g.Stages[c.ToStage].Name, c.ToPort}
		if ports[key] {
			return fmt.Errorf("%s is there twice: connect two ports once", Describe(g, i))
		}
		ports[key] = true
	}
	return nil
}

func validateStage(i int, s *wire.Stage, l Limits) error {
	if s == nil {
		return fmt.Errorf("stage %d is empty", i)
	}
	if err := name("name", s.Name, l); err != nil {
		return fmt.Errorf("stage %d: %w", i, err)
	}
	for _, kind := range []string{s.Kind, s.PreferKind} {
		if kind == "" {
			continue
		}
		if err := name("slot kind", kind, l); err != nil {
			return fmt.Errorf("stage %q: %w", s.Name, err)
		}
	}
	switch {
	case int64(s.Slots) > int64(l.Slots):
		return fmt.Errorf("stage %q takes %d slots a group, at most %d are allowed: ask for fewer", s.Name, s.Slots, l.Slots)
	case s.AttemptsMax > wire.StageAttemptsMax:
		return fmt.Errorf("stage %q may be tried %d times, at most %d are allowed", s.Name, s.AttemptsMax, wire.StageAttemptsMax)
	case s.ExpectedNs < 0 || s.ExpectedNs > int64(wire.StageExpectedMax):
		return fmt.Errorf("stage %q is expected to run for %v: use 0 for unknown, up to %v", s.Name, time.Duration(s.ExpectedNs), wire.StageExpectedMax)
	case s.Memory < 0:
		return fmt.Errorf("stage %q asks for %d bytes of memory: use 0 for the site's default, or more", s.Name, s.Memory)
	case s.Memory > l.Memory:
		return fmt.Errorf("stage %q asks for %d bytes of memory, at most %d are allowed: ask for less", s.Name, s.Memory, l.Memory)
	case len(s.Inputs) != 0 && len(s.Inputs) != int(s.Nodes):
		return fmt.Errorf("stage %q has %d nodes and %d inputs: give each node one", s.Name, s.Nodes, len(s.Inputs))
	}
	if err := wire.CheckResources(s.Resources); err != nil {
		return fmt.Errorf("stage %q asks for %w", s.Name, err)
	}
	for n, in := range s.Inputs {
		if in == nil {
			continue
		}
		if in.Bytes < 0 {
			return fmt.Errorf("stage %q, node %d reads %d bytes: a size is 0 or more", s.Name, n, in.Bytes)
		}
		if len(in.Places) > l.Places {
			return fmt.Errorf("stage %q, node %d lists %d places of its input, at most %d are allowed: list those that hold most", s.Name, n, len(in.Places), l.Places)
		}
		for _, p := range in.Places {
			if p == nil || p.Bytes < 0 || p.Host == "" || len(p.Host) > l.NameBytes || len(p.Rack) > l.NameBytes || !utf8.ValidString(p.Host) || !utf8.ValidString(p.Rack) {
				return fmt.Errorf("stage %q, node %d lists a place of its input that is none: a place has a host and a size of 0 or more", s.Name, n)
			}
		}
	}
	return nil
}

// validateArray checks a job array: only one stage has elements, and no connection joins it with another
// stage. So each element is a bundle of its own, and no bundle reads the output of a failed element.
func validateArray(g *wire.Graph) error {
	array := -1
	for i, s := range g.Stages {
		if s.Elements == nil {
			continue
		}
		if array >= 0 {
			return fmt.Errorf("the stages %q and %q both have elements: a job has one array", g.Stages[array].Name, s.Name)
		}
		if err := wire.CheckElements(s.Elements, s.Nodes); err != nil {
			return fmt.Errorf("stage %q is a job array: %w", s.Name, err)
		}
		array = i
	}
	for _, c := range g.Connections {
		if c != nil && array >= 0 && (int(c.FromStage) == array || int(c.ToStage) == array) {
			return fmt.Errorf("stage %q is a job array, and a connection joins it with another stage: put what comes before or after the array into jobs of their own (--after)", g.Stages[array].Name)
		}
	}
	return nil
}

func validateConnection(g *wire.Graph, i int, c *wire.Connection, l Limits) error {
	if int(c.FromStage) >= len(g.Stages) || int(c.ToStage) >= len(g.Stages) {
		return fmt.Errorf("connection %d goes from stage %d to stage %d, and there are %d stages", i, c.FromStage, c.ToStage, len(g.Stages))
	}
	if err := name("output port", c.FromPort, l); err != nil {
		return fmt.Errorf("connection %d: %w", i, err)
	}
	if err := name("input port", c.ToPort, l); err != nil {
		return fmt.Errorf("connection %d: %w", i, err)
	}
	where := Describe(g, i)
	if c.Kind < wire.ChannelKind_CHANNEL_KIND_FILE || c.Kind > wire.ChannelKind_CHANNEL_KIND_SHM {
		return fmt.Errorf("%s has no known channel kind (%d): use file, tcp or shm", where, c.Kind)
	}
	if c.Codec < 0 || c.Codec > wire.Codec_CODEC_ZSTD {
		return fmt.Errorf("%s has an unknown codec (%d): use none, lz4 or zstd", where, c.Codec)
	}
	// NaN fails every comparison, so check for valid values.
	if !(c.SlowStart >= 0 && c.SlowStart < 1) || math.Signbit(c.SlowStart) {
		return fmt.Errorf("%s has slow-start %v: use 0 to below 1", where, c.SlowStart)
	}
	file := c.Kind == wire.ChannelKind_CHANNEL_KIND_FILE
	if c.SlowStart > 0 && !file {
		return fmt.Errorf("%s has slow-start, which only file channels have: use a file channel or leave it out", where)
	}
	if c.Store != "" && !file {
		return fmt.Errorf("%s names a store, which only file channels have: use a file channel or leave it out", where)
	}
	if len(c.Edges) > 0 && c.Pattern != wire.Pattern_PATTERN_EDGES {
		return fmt.Errorf("%s lists edges, which only the pattern edges does", where)
	}
	if c.Pattern < wire.Pattern_PATTERN_ONE_TO_ONE || c.Pattern > wire.Pattern_PATTERN_EDGES {
		return fmt.Errorf("%s has an unknown pattern (%d): use one-to-one, all-to-all, merge, fork or edges", where, c.Pattern)
	}
	if c.Aggregate != nil {
		return validateAggregate(g, i, c)
	}
	if c.Adapt != nil {
		return validateAdapt(g, i, c, l)
	}
	return nil // package expand checks patterns against the stages
}

// validateAdapt checks an adapted connection, and that its reading stage has no other one.
func validateAdapt(g *wire.Graph, i int, c *wire.Connection, l Limits) error {
	where, a, to := Describe(g, i), c.Adapt, g.Stages[c.ToStage]
	writers := g.Stages[c.FromStage].GetNodes()
	switch {
	case c.Kind != wire.ChannelKind_CHANNEL_KIND_FILE || c.Pattern != wire.Pattern_PATTERN_ALL_TO_ALL:
		return fmt.Errorf("%s adapts its readers to the sizes of partitions, which only all-to-all connections of files do: make it one, or leave Adapt out", where)
	case c.SlowStart > 0:
		return fmt.Errorf("%s adapts its readers to the sizes of partitions, which are known when all writers have finished, and has slow-start: leave one of the two out", where)
	case a.Bytes < 1:
		return fmt.Errorf("%s joins partitions up to %d bytes: use 1 or more", where, a.Bytes)
	case a.Partitions < 1 || a.Partitions > to.GetNodes():
		return fmt.Errorf("%s adapts %d partitions to at most %d readers: use at least 1, and as many nodes of stage %q or more", where, a.Partitions, to.GetNodes(), to.GetName())
	case uint64(a.Partitions)*uint64(writers) > uint64(l.AdaptPairs):
		return fmt.Errorf("%s adapts %d partitions of %d writers, and at most %d pairs of the two are allowed: use %d partitions or fewer", where, a.Partitions, writers, l.AdaptPairs, l.AdaptPairs/int(writers))
	case len(to.GetInputs()) > 0:
		return fmt.Errorf("%s adapts its readers, and they read stored files too: read those in another stage", where)
	}
	for k, other := range g.Connections {
		if k != i && other != nil && (other.ToStage == c.ToStage || other.FromStage == c.ToStage) {
			return fmt.Errorf("%s adapts its readers, and connection %d joins stage %q with another one too: put what comes after into a job of its own (--after)", where, k, to.GetName())
		}
	}
	return nil
}

func name(what, s string, l Limits) error {
	switch {
	case s == "":
		return fmt.Errorf("the %s is empty: name it", what)
	case len(s) > l.NameBytes:
		return fmt.Errorf("the %s has %d bytes, at most %d are allowed: shorten it", what, len(s), l.NameBytes)
	case !utf8.ValidString(s):
		return fmt.Errorf("the %s %q is no UTF-8 text: rename it", what, s)
	}
	return nil
}

// Describe names a connection for people. Its stages must exist.
func Describe(g *wire.Graph, i int) string {
	c := g.Connections[i]
	return fmt.Sprintf("connection %s.%s to %s.%s", g.Stages[c.FromStage].Name, c.FromPort, g.Stages[c.ToStage].Name, c.ToPort)
}
