package policytest

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// storyFiles are the scripted games. A line is a time, a verb and its arguments:
//
//	0s join 1 default=2 special=1 memory=8 swap=4
//	1s submit wide priority=HIGH pool=p user=u layer=2x(default:2,special) run=3s after=0 hosts=1,2 shuffles fails prefers=special
//	5s load 1 cpu=0.9 memory=0.5 · load 1 cpu=unknown
//	5s lose 1 · drain 1 · undrain 1 · kill 2 · update 2 pool=p priority=LOW · straggle 0 · stick 0 · overdue 0
//	5s note NAME · page GET /path · settings good · settings bad
//
// Memory and swap are in GiB; a group is kind, or kind:GiB, or kind:GiB/slots. A layer's
// arguments follow it. Text from # on is for the reader.
//
//go:embed testdata/stories/*.txt
var storyFiles embed.FS

func stories() []game {
	names, err := fs.Glob(storyFiles, "testdata/stories/*.txt")
	if err != nil {
		panic(err) // the pattern is wrong
	}
	var all []game
	for i, name := range names {
		text, err := storyFiles.ReadFile(name)
		if err != nil {
			panic(err) // it is embedded
		}
		acts, err := parseStory(string(text))
		title := "story " + strings.TrimSuffix(path.Base(name), ".txt")
		if err != nil {
			panic(title + ": " + err.Error()) // the kit's own file
		}
		all = append(all, game{title, uint64(1000 + i), func(c *cluster.Cluster, o Options) {
			for _, a := range acts {
				c.After(a.at, func() { a.do(c, o) })
			}
		}})
	}
	return all
}

type act struct {
	at time.Duration
	do func(*cluster.Cluster, Options)
}

func parseStory(text string) ([]act, error) {
	var acts []act
	for n, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		at, err := time.ParseDuration(words[0])
		if err == nil && len(words) < 2 {
			err = fmt.Errorf("a time and no verb")
		}
		var do func(*cluster.Cluster, Options)
		if err == nil {
			do, err = parseAct(words[1], words[2:])
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
		acts = append(acts, act{at, do})
	}
	return acts, nil
}

func parseAct(verb string, args []string) (func(*cluster.Cluster, Options), error) {
	switch verb {
	case "join":
		return parseJoin(args)
	case "submit":
		return parseSubmit(args)
	}
	if len(args) == 0 {
		return nil, fmt.Errorf("%s needs an argument", verb)
	}
	switch verb {
	case "note":
		return func(c *cluster.Cluster, _ Options) { c.Note(scheduler.Note{Name: args[0], Body: []byte(verb)}) }, nil
	case "settings":
		return func(c *cluster.Cluster, o Options) {
			if args[0] == "good" {
				c.Settings(o.Config, cluster.MustAccept)
				return
			}
			c.Settings(o.Bad[0], cluster.MustReject)
		}, nil
	case "page":
		if len(args) < 2 {
			return nil, fmt.Errorf("page needs a method and a path")
		}
		return func(c *cluster.Cluster, _ Options) { c.Request(args[0], args[1], nil) }, nil
	}
	id, err := strconv.ParseUint(args[0], 10, 32)
	if err != nil {
		return nil, err
	}
	return parseByID(verb, id, args[1:])
}

func parseByID(verb string, id uint64, args []string) (func(*cluster.Cluster, Options), error) {
	launcher, job := scheduler.LauncherID(id), scheduler.JobID(id)
	switch verb {
	case "lose":
		return func(c *cluster.Cluster, _ Options) { c.Lose(launcher) }, nil
	case "drain", "undrain":
		return func(c *cluster.Cluster, _ Options) { c.Drain(launcher, verb == "drain") }, nil
	case "load":
		return parseLoad(launcher, args)
	case "kill":
		return func(c *cluster.Cluster, _ Options) { c.Kill(job) }, nil
	case "straggle":
		return func(c *cluster.Cluster, _ Options) { c.Straggle(int(id)) }, nil //nolint:gosec // parsed as 32 bits
	case "overdue":
		return func(c *cluster.Cluster, _ Options) { c.Overdue(int(id)) }, nil //nolint:gosec // parsed as 32 bits
	case "stick":
		return func(c *cluster.Cluster, _ Options) { c.Stick(int(id)) }, nil //nolint:gosec // parsed as 32 bits
	case "update":
		var s cluster.Spec
		for _, a := range args {
			if err := jobWord(&s, a); err != nil {
				return nil, err
			}
		}
		return func(c *cluster.Cluster, _ Options) { c.Update(job, s.Pool, s.Priority) }, nil
	}
	return nil, fmt.Errorf("unknown verb %q", verb)
}

func parseJoin(args []string) (func(*cluster.Cluster, Options), error) {
	if len(args) < 2 {
		return nil, fmt.Errorf("join needs a number and slots")
	}
	id, err := strconv.ParseUint(args[0], 10, 32)
	if err != nil {
		return nil, err
	}
	memory, swap := 8*gib, int64(0)
	var slots []scheduler.SlotCount
	for _, a := range args[1:] {
		key, value, _ := strings.Cut(a, "=")
		n, err := strconv.Atoi(value)
		if err != nil {
			return nil, err
		}
		switch key {
		case "memory":
			memory = int64(n) * gib
			continue
		case "swap":
			swap = int64(n) * gib
			continue
		}
		slots = append(slots, scheduler.SlotCount{Kind: key, Count: n})
	}
	return func(c *cluster.Cluster, _ Options) {
		c.Swap(scheduler.LauncherID(id), swap)
		c.Join(scheduler.LauncherID(id), cluster.Rack(scheduler.LauncherID(id)), memory, slots...)
	}, nil
}

// parseLoad reads shares from 0 to 1; a missing one is unknown.
func parseLoad(id scheduler.LauncherID, args []string) (func(*cluster.Cluster, Options), error) {
	load := map[string]float64{"cpu": scheduler.LoadUnknown, "memory": scheduler.LoadUnknown}
	for _, a := range args {
		key, value, _ := strings.Cut(a, "=")
		if _, ok := load[key]; !ok {
			return nil, fmt.Errorf("a load has no %q", key)
		}
		if value == "unknown" {
			continue
		}
		x, err := strconv.ParseFloat(value, 64)
		if err != nil || !(x >= 0 && x <= 1) {
			return nil, fmt.Errorf("%q is not 0 to 1", value)
		}
		load[key] = x
	}
	return func(c *cluster.Cluster, _ Options) { c.Load(id, load["cpu"], load["memory"]) }, nil
}

func parseSubmit(args []string) (func(*cluster.Cluster, Options), error) {
	if len(args) == 0 {
		return nil, fmt.Errorf("submit needs a name")
	}
	s := cluster.Spec{Name: args[0]}
	for _, a := range args[1:] {
		var err error
		switch {
		case strings.HasPrefix(a, "layer="):
			err = addLayer(&s, strings.TrimPrefix(a, "layer="))
		case len(s.Layers) == 0:
			err = jobWord(&s, a)
		default:
			err = layerWord(&s.Layers[len(s.Layers)-1], a)
		}
		if err != nil {
			return nil, err
		}
	}
	return func(c *cluster.Cluster, _ Options) { c.Submit(s) }, nil
}

func jobWord(s *cluster.Spec, word string) (err error) {
	key, value, _ := strings.Cut(word, "=")
	switch key {
	case "priority":
		s.Priority, err = scheduler.ParsePriority(value)
	case "pool":
		s.Pool = value
	case "user":
		s.User = value
	default:
		err = fmt.Errorf("a job has no %q", key)
	}
	return err
}

// addLayer reads 2x(default,special:1).
func addLayer(s *cluster.Spec, text string) error {
	count, groups, ok := strings.Cut(strings.TrimSuffix(text, ")"), "x(")
	n, err := strconv.Atoi(count)
	if !ok || err != nil {
		return fmt.Errorf("layer %q is not like 2x(default,special:1)", text)
	}
	l := cluster.Layer{Bundles: n, Run: time.Second}
	for _, g := range strings.Split(groups, ",") {
		spec := cluster.GroupSpec{Slots: 1}
		g, slots, some := strings.Cut(g, "/")
		if some {
			if spec.Slots, err = strconv.Atoi(slots); err != nil {
				return err
			}
		}
		kind, memory, some := strings.Cut(g, ":")
		if some {
			if spec.Memory, err = strconv.ParseInt(memory, 10, 32); err != nil {
				return err
			}
		}
		spec.Kind, spec.Memory = kind, spec.Memory*gib
		l.Groups = append(l.Groups, spec)
	}
	s.Layers = append(s.Layers, l)
	return nil
}

func layerWord(l *cluster.Layer, word string) (err error) {
	key, value, _ := strings.Cut(word, "=")
	switch key {
	case "run":
		l.Run, err = time.ParseDuration(value)
	case "shuffles":
		l.Shuffles = true
	case "holds": // something outside
		l.NoSuspend = true
	case "fails":
		l.FailOnce = true
	case "prefers":
		l.Prefers = value
	case "after":
		for _, n := range strings.Split(value, ",") {
			i, e := strconv.Atoi(n)
			l.After, err = append(l.After, i), e
		}
	case "hosts":
		for _, n := range strings.Split(value, ",") {
			i, e := strconv.ParseUint(n, 10, 32)
			l.Hosts, err = append(l.Hosts, scheduler.LauncherID(i)), e
		}
	default:
		err = fmt.Errorf("a layer has no %q", key)
	}
	return err
}
