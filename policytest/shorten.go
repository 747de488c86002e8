package policytest

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// playsMax bounds the plays in which a game is made short.
const playsMax = 2_000

// shortener makes a game short that breaks a rule: it leaves events out and makes the others smaller,
// as long as the same rule is broken. This is delta debugging (Zeller and Hildebrandt, 2002).
type shortener struct {
	kit   *kit
	game  game
	rule  string
	until time.Time
	plays int
	acts  []act // the shortest so far
}

// shorten returns a short game with the report's first problem, told in words. It returns nil when no
// such game can be played again.
func (k *kit) shorten(g game) *Story {
	if k.options.ShortenFor < 0 || k.ctx.Err() != nil {
		return nil
	}
	problem := k.report.Problems[0]
	g.last = playOf(g.name, problem)
	s := shortener{kit: k, game: g, rule: ruleOf(problem), until: time.Now().Add(k.options.ShortenFor)}
	all := g.plan(k.options)
	slices.SortStableFunc(all, func(a, b act) int { return cmp.Compare(a.at, b.at) })
	if !s.try(all) {
		return nil // it does not fail the same way twice
	}
	s.game.calm = true
	s.game.calm = s.try(all)
	for before := -1; before != s.size() && !s.over(); {
		before = s.size()
		s.leaveOut()
		s.makeSmaller()
	}
	return s.storyOf(len(all))
}

// playOf is the play of a game that a problem names.
func playOf(name, problem string) replay {
	switch {
	case strings.HasPrefix(problem, name+", restarted"):
		return restarted
	case strings.HasPrefix(problem, name+", played again"):
		return playedAgain
	}
	return firstPlay
}

var (
	withDigits = compiled(`\S*\d\S*`)
	aside      = compiled(`(?s)\(.*|\[.*?\]|".*?"|\n.*`)
)

// compiled is an expression that is compiled when it is first used: programs link this package that
// never test a policy.
func compiled(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// ruleWords is the number of words by which a broken rule is known.
const ruleWords = 10

// ruleOf is the rule that a problem tells of: its first words without names, numbers and lists.
func ruleOf(problem string) string {
	words := strings.Fields(withDigits().ReplaceAllString(aside().ReplaceAllString(problem, " "), " "))
	return strings.Join(words[:min(len(words), ruleWords)], " ")
}

func (s *shortener) over() bool {
	return s.plays >= playsMax || !time.Now().Before(s.until) || s.kit.ctx.Err() != nil
}

// size is what is to become less: the events, and the parts of jobs and launchers.
func (s *shortener) size() (n int) {
	for _, a := range s.acts {
		n++
		if a.join != nil {
			n += int(a.join.id) //nolint:gosec // few
			for _, x := range a.join.slots {
				n += x.Count
			}
		}
		if a.job != nil {
			n += sizeOf(*a.job)
		}
	}
	return n
}

// try plays a game with other events, and keeps these when it breaks the same rule.
func (s *shortener) try(acts []act) bool {
	if s.over() {
		return false
	}
	s.plays++
	k := s.kit.again()
	k.game(s.with(acts))
	if len(k.report.Problems) == 0 || ruleOf(k.report.Problems[0]) != s.rule {
		return false
	}
	if s.kit.ctx.Err() != nil || !s.fair(acts) {
		return false
	}
	s.acts = acts
	return true
}

// again is a kit for the same policy with no findings yet.
func (k *kit) again() *kit {
	return &kit{ctx: k.ctx, options: k.options, driver: k.driver}
}

func (s *shortener) with(acts []act) game {
	g := s.game
	g.plan = func(Options) []act { return acts }
	return g
}

// fair reports whether a good policy would end the jobs of a game. Only where jobs do not end is this
// in doubt: a game without launchers is no policy's fault.
func (s *shortener) fair(acts []act) bool {
	if !strings.Contains(s.rule, "never ended") && !strings.Contains(s.rule, "nothing was launched") && !strings.Contains(s.rule, "not at an end") {
		return true
	}
	ctx, cancel := context.WithTimeout(s.kit.ctx, s.kit.options.AnswerWithin)
	defer cancel()
	o := s.kit.options
	o.Restarts = -1
	k := &kit{ctx: ctx, options: o, driver: timed{InProcess(newGreedy), o.AnswerWithin}}
	g := s.with(acts)
	g.last = firstPlay
	k.game(g)
	return len(k.report.Problems) == 0 || !slices.ContainsFunc(k.report.Problems, func(p string) bool { return ruleOf(p) == s.rule })
}

// leaveOut leaves events out: halves, quarters and so on down to single units, the last first.
func (s *shortener) leaveOut() {
	for size := len(units(s.acts)); size > 0 && !s.over(); size /= 2 {
		for end := len(units(s.acts)); end > 0 && !s.over(); end -= size {
			all := units(s.acts)
			end = min(end, len(all))
			var kept []act
			for i, u := range all {
				if i < end-size || i >= end {
					kept = append(kept, u...)
				}
			}
			slices.SortStableFunc(kept, func(a, b act) int { return cmp.Compare(a.at, b.at) })
			s.try(kept)
		}
	}
}

// units are the events that can be left out each by itself.
func units(acts []act) (all [][]act) {
	at := map[int]int{}
	for _, a := range acts {
		if i, known := at[a.unit]; known && a.unit != 0 {
			all[i] = append(all[i], a)
			continue
		}
		at[a.unit] = len(all)
		all = append(all, []act{a})
	}
	return all
}

// makeSmaller makes each event smaller while that can be done.
func (s *shortener) makeSmaller() {
	for i := 0; i < len(s.acts) && !s.over(); {
		if !slices.ContainsFunc(smallerActs(s.acts[i]), func(a act) bool {
			acts := slices.Clone(s.acts)
			acts[i] = a
			slices.SortStableFunc(acts, func(a, b act) int { return cmp.Compare(a.at, b.at) })
			return s.try(acts)
		}) {
			i++
		}
	}
}

// smallerActs are simpler forms of an event, the simplest first.
func smallerActs(a act) (all []act) {
	if a.at > 0 && a.unit == 0 {
		for _, at := range []time.Duration{0, a.at.Truncate(time.Second), a.at.Truncate(100 * time.Millisecond)} {
			if x := a; at != a.at {
				x.at = at
				all = append(all, x)
			}
		}
	}
	if a.job != nil {
		for _, s := range smallerJobs(*a.job) {
			x := a
			x.job = &s
			all = append(all, x)
		}
	}
	if a.join != nil {
		for _, j := range smallerJoins(*a.join) {
			x := a
			x.join = &j
			all = append(all, x)
		}
	}
	return all
}

func smallerJoins(j join) (all []join) {
	for id := scheduler.LauncherID(1); id < j.id; id++ { // the manager gives ids in order: fewer have to come and go before it
		x := j
		x.id = id
		all = append(all, x)
	}
	for i, s := range j.slots {
		if len(j.slots) > 1 {
			x := j
			x.slots = slices.Delete(slices.Clone(j.slots), i, i+1)
			all = append(all, x)
		}
		for _, n := range []int{1, s.Count / 2, s.Count - 1} {
			if n > 0 && n < s.Count {
				x := j
				x.slots = slices.Clone(j.slots)
				x.slots[i].Count = n
				all = append(all, x)
			}
		}
	}
	if j.noSuspend {
		x := j
		x.noSuspend = false
		all = append(all, x)
	}
	if !j.resources.IsZero() {
		x := j
		x.resources, x.frees = scheduler.Resources{}, nil
		all = append(all, x)
	}
	if j.swap != 0 {
		j.swap = 0
		all = append(all, j)
	}
	return all
}

func sizeOf(s cluster.Spec) int {
	n := len(s.Properties)
	for _, l := range s.Layers {
		n += 1 + l.Bundles*len(l.Groups) + len(l.Hosts) + len(l.After)
	}
	return n
}

// smallerJobs are simpler forms of a job.
func smallerJobs(s cluster.Spec) (all []cluster.Spec) {
	for i := range s.Layers {
		if len(s.Layers) > 1 {
			all = append(all, withoutLayer(s, i))
		}
	}
	plain := s
	plain.Properties, plain.Pool, plain.User, plain.Priority = nil, "", "", 0
	if len(s.Properties) > 0 || s.Pool != "" || s.User != "" || s.Priority != 0 {
		all = append(all, plain)
	}
	if len(s.Properties) > 0 {
		x := s
		x.Properties = nil
		all = append(all, x)
	}
	for i := range s.Layers {
		for _, l := range smallerLayers(s.Layers[i]) {
			x := s
			x.Layers = slices.Clone(s.Layers)
			x.Layers[i] = l
			all = append(all, x)
		}
	}
	return all
}

// withoutLayer leaves a layer out; those that follow it follow nothing in its place.
func withoutLayer(s cluster.Spec, out int) cluster.Spec {
	layers := slices.Delete(slices.Clone(s.Layers), out, out+1)
	for i := range layers {
		var after []int
		for _, n := range layers[i].After {
			switch {
			case n < out:
				after = append(after, n)
			case n > out:
				after = append(after, n-1)
			}
		}
		layers[i].After = after
		layers[i].Adapted = layers[i].Adapted && len(after) > 0
	}
	s.Layers = layers
	return s
}

// smallerLayers are simpler forms of a layer.
func smallerLayers(l cluster.Layer) (all []cluster.Layer) {
	add := func(change func(*cluster.Layer)) {
		x := l
		x.Groups = slices.Clone(l.Groups)
		change(&x)
		all = append(all, x)
	}
	for _, n := range []int{1, l.Bundles / 2, l.Bundles - 1} {
		if n > 0 && n < l.Bundles {
			add(func(x *cluster.Layer) { x.Bundles = n })
		}
	}
	for i := range l.Groups {
		if len(l.Groups) > 1 {
			add(func(x *cluster.Layer) { x.Groups = slices.Delete(x.Groups, i, i+1) })
		}
		if l.Groups[i].Memory > 0 {
			add(func(x *cluster.Layer) { x.Groups[i].Memory = 0 })
		}
		if !l.Groups[i].Resources.IsZero() {
			add(func(x *cluster.Layer) { x.Groups[i].Resources = scheduler.Resources{} })
		}
		if l.Groups[i].Slots > 1 {
			add(func(x *cluster.Layer) { x.Groups[i].Slots = 1 })
		}
	}
	if l.Adapted {
		add(func(x *cluster.Layer) { x.Adapted = false })
	}
	if l.Shuffles || l.FailOnce || l.NoSuspend || l.Prefers != "" || len(l.Hosts) > 0 || len(l.After) > 0 {
		add(func(x *cluster.Layer) { *x = cluster.Layer{Bundles: l.Bundles, Groups: x.Groups, Run: l.Run} })
		add(func(x *cluster.Layer) { x.Hosts, x.Prefers = nil, "" })
		add(func(x *cluster.Layer) { x.Shuffles, x.FailOnce, x.NoSuspend = false, false, false })
		all = slices.DeleteFunc(all, func(x cluster.Layer) bool { return sameLayer(x, l) })
	}
	for _, d := range []time.Duration{time.Second, l.Run.Truncate(time.Second), l.Run.Truncate(100 * time.Millisecond)} {
		if d > 0 && d < l.Run {
			add(func(x *cluster.Layer) { x.Run = d })
		}
	}
	return all
}

// sameLayer reports whether two layers differ in nothing that smallerLayers leaves out.
func sameLayer(a, b cluster.Layer) bool {
	return a.Bundles == b.Bundles && slices.Equal(a.Groups, b.Groups) && a.Run == b.Run && slices.Equal(a.Hosts, b.Hosts) && slices.Equal(a.After, b.After) &&
		a.Shuffles == b.Shuffles && a.FailOnce == b.FailOnce && a.NoSuspend == b.NoSuspend && a.Prefers == b.Prefers && a.Adapted == b.Adapted
}
