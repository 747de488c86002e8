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
		all = append(all, game{name: title, seed: uint64(1000 + i), plan: func(Options) []act { return acts }}) //nolint:gosec // few
	}
	return all
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
		var a act
		if err == nil {
			a, err = parseAct(words[1], words[2:])
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
		a.at = at
		acts = append(acts, a)
	}
	return acts, nil
}

func parseAct(verb string, args []string) (act, error) {
	switch verb {
	case "join":
		j, err := parseJoin(args)
		return act{join: j}, err
	case "submit":
		s, err := parseSubmit(args)
		return act{job: s}, err
	}
	if len(args) == 0 {
		return act{}, fmt.Errorf("%s needs an argument", verb)
	}
	switch verb {
	case "note":
		return act{text: "a note comes: " + args[0], do: func(c *cluster.Cluster, _ Options) {
			c.Note(scheduler.Note{Name: args[0], Body: []byte(verb)})
		}}, nil
	case "settings":
		if args[0] == "good" {
			return act{text: "the first settings come again", do: func(c *cluster.Cluster, o Options) { c.Settings(o.Config, cluster.MustAccept) }}, nil
		}
		return act{text: "wrong settings come", do: func(c *cluster.Cluster, o Options) { c.Settings(o.Bad[0], cluster.MustReject) }}, nil
	case "page":
		if len(args) < 2 {
			return act{}, fmt.Errorf("page needs a method and a path")
		}
		return act{text: args[0] + " " + args[1] + " is requested", do: func(c *cluster.Cluster, _ Options) { c.Request(args[0], args[1], nil) }}, nil
	}
	id, err := strconv.ParseUint(args[0], 10, 32)
	if err != nil {
		return act{}, err
	}
	return parseByID(verb, id, args[1:])
}

func parseByID(verb string, id uint64, args []string) (a act, err error) {
	launcher, job, n := scheduler.LauncherID(id), scheduler.JobID(id), int(id) //nolint:gosec // parsed as 32 bits
	switch verb {
	case "lose":
		a.text, a.do = fmt.Sprintf("launcher %d is lost", id), func(c *cluster.Cluster, _ Options) { c.Lose(launcher) }
	case "drain", "undrain":
		a.text = fmt.Sprintf("launcher %d is drained", id)
		if verb == "undrain" {
			a.text += " no more"
		}
		a.do = func(c *cluster.Cluster, _ Options) { c.Drain(launcher, verb == "drain") }
	case "load":
		a.text = fmt.Sprintf("the machine of launcher %d has other load: %s", id, strings.Join(args, " "))
		a.do, err = parseLoad(launcher, args)
	case "kill":
		a.text, a.do = fmt.Sprintf("%s is killed", job), func(c *cluster.Cluster, _ Options) { c.Kill(job) }
	case "straggle":
		a.text, a.do = "a running bundle is offered for a second attempt", func(c *cluster.Cluster, _ Options) { c.Straggle(n) }
	case "overdue":
		a.text, a.do = "a suspended bundle is offered for a second attempt", func(c *cluster.Cluster, _ Options) { c.Overdue(n) }
	case "stick":
		a.text, a.do = "a suspended attempt can't be resumed any more", func(c *cluster.Cluster, _ Options) { c.Stick(n) }
	case "update":
		var s cluster.Spec
		for _, word := range args {
			if err := jobWord(&s, word); err != nil {
				return act{}, err
			}
		}
		a.text = fmt.Sprintf("%s is updated: %s", job, strings.Join(args, " "))
		a.do = func(c *cluster.Cluster, _ Options) { c.Update(job, s.Pool, s.Priority) }
	default:
		err = fmt.Errorf("unknown verb %q", verb)
	}
	return a, err
}

func parseJoin(args []string) (*join, error) {
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
	return &join{id: scheduler.LauncherID(id), memory: memory, swap: swap, slots: slots}, nil
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

func parseSubmit(args []string) (*cluster.Spec, error) {
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
	return &s, nil
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
