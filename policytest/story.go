package policytest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Story is a short game in which a policy breaks a rule, told in words.
type Story struct {
	Game          string // that it was made of
	Before, After int    // planned events of the game, and of the short one
	Plays         int    // in which it was made short
	Problem       string // the rule that it breaks
	// Planned lists the events of the short game; Told what happened in its rounds, and what the
	// policy answered.
	Planned, Told []string
	// Again says how to play the game again.
	Again string
}

// String is the story for people, with lines of text.
func (s *Story) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "A short game of this kind: %d planned events of %d that %s has, found in %d plays.\n", s.After, s.Before, s.Game, s.Plays)
	for _, l := range s.Planned {
		b.WriteString("  " + l + "\n")
	}
	b.WriteString("What happened:\n")
	for _, l := range s.Told {
		b.WriteString("  " + l + "\n")
	}
	fmt.Fprintf(&b, "What is wrong: %s\n%s", s.Problem, s.Again)
	return b.String()
}

// Bounds of a told story.
const (
	toldFirst = 4   // rounds that are told at its beginning
	toldLast  = 8   // rounds that are told at its end
	toldMax   = 12  // events of a round, and decisions of an answer
	toldWidth = 300 // bytes of a line
)

// storyOf plays the short game once more, and returns it as a story.
func (s *shortener) storyOf(before int) *Story {
	k := s.kit.again()
	k.telling = &telling{}
	k.game(s.with(s.acts))
	if len(k.report.Problems) == 0 {
		return nil // the policy decides differently each time
	}
	story := &Story{Game: s.game.name, Before: before, After: len(s.acts), Plays: s.plays, Problem: withoutStack(k.report.Problems[0])}
	jobs := 0
	for _, a := range s.acts {
		if a.job != nil {
			jobs++
		}
		story.Planned = append(story.Planned, cut(fmt.Sprintf("%-8s %s", seconds(a.at), a.words(jobs)), toldWidth))
	}
	story.Told = k.telling.lines(lastRound(story.Problem))
	story.Again = again(s.game)
	return story
}

// withoutStack is a problem without the stack of a panic, which the report has.
func withoutStack(problem string) string {
	problem, _, _ = strings.Cut(problem, "\ngoroutine ")
	return cut(problem, 4*toldWidth)
}

// again says how to play a game again.
func again(g game) string {
	if seed, is := strings.CutPrefix(g.name, "seed "); is {
		return "Play the whole game again with: hamadryad policy check PATH --seeds 1 --seed " + seed +
			"; or in Go with policytest.Options{First: " + seed + ", Seeds: 1, NoStories: true}."
	}
	return "It is one of the scripted games, which are played first: play it again with hamadryad policy check --seeds 0 PATH; or in Go with policytest.Options{Seeds: -1}."
}

func cut(s string, most int) string {
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// seconds is a time of the game.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s" }

// words describe a planned event; jobs is the number of the job that it submits.
func (a act) words(jobs int) string {
	switch {
	case a.job != nil:
		return fmt.Sprintf("%s is submitted%s", scheduler.JobID(jobs), jobWords(*a.job)) //nolint:gosec // few
	case a.join != nil:
		return fmt.Sprintf("launcher %d joins with %s, and %s of memory%s%s", a.join.id, slotWords(a.join.slots), memoryWords(a.join.memory), resourceWords(a.join.resources),
			map[bool]string{true: "; it can't suspend attempts"}[a.join.noSuspend])
	}
	return a.text
}

func jobWords(s cluster.Spec) string {
	var b strings.Builder
	if s.Pool != "" {
		fmt.Fprintf(&b, ", pool %.40q", s.Pool)
	}
	if s.User != "" {
		fmt.Fprintf(&b, ", user %.40q", s.User)
	}
	if s.Priority != 0 {
		fmt.Fprintf(&b, ", priority %s", s.Priority)
	}
	for _, p := range s.Properties {
		fmt.Fprintf(&b, ", property %.40q = %.40q", p.Name, p.Value)
	}
	for i, l := range s.Layers {
		fmt.Fprintf(&b, "; layer %d has %s", i, layerWords(l))
	}
	return b.String()
}

func layerWords(l cluster.Layer) string {
	var groups []string
	for _, g := range l.Groups {
		groups = append(groups, fmt.Sprintf("%d %s and %s%s", max(g.Slots, 1), g.Kind, memoryWords(g.Memory), resourceWords(g.Resources)))
	}
	s := fmt.Sprintf("%d bundles of (%s) for about %s", l.Bundles, strings.Join(groups, " + "), seconds(l.Run))
	if len(l.After) > 0 {
		s += fmt.Sprintf(", after layers %d", l.After)
	}
	if len(l.Hosts) > 0 {
		s += fmt.Sprintf(", input at launchers %d", l.Hosts)
	}
	for _, x := range []struct {
		is   bool
		text string
	}{
		{l.FailOnce, "whose first attempts fail"},
		{l.NoSuspend, "not to be suspended"},
		{l.Shuffles, "with a shuffle"},
		{l.Adapted, "as many of them as the bytes of the layer before ask for"},
		{l.Prefers != "", "prefers slots of kind " + l.Prefers},
	} {
		if x.is {
			s += ", " + x.text
		}
	}
	return s
}

func slotWords(slots []scheduler.SlotCount) string {
	if len(slots) == 0 {
		return "no slots"
	}
	var list []string
	for _, s := range slots {
		list = append(list, fmt.Sprintf("%d %s", s.Count, s.Kind))
	}
	return strings.Join(list, ", ")
}

// resourceWords follow what else a launcher or a group has.
func resourceWords(r scheduler.Resources) (s string) {
	for _, x := range r.Counts() {
		s += fmt.Sprintf(", %d %s", x.Count, x.Kind)
	}
	return s
}

func memoryWords(n int64) string { return fmt.Sprintf("%.1f GiB", float64(n)/float64(gib)) }

var ofRound = compiled(`round (\d+)`)

// lastRound is the round in which a problem was found; 0: it names none.
func lastRound(problem string) uint64 {
	m := ofRound().FindStringSubmatch(problem)
	if m == nil {
		return 0
	}
	n, err := strconv.ParseUint(m[1], 10, 64)
	if err != nil {
		return 0 // it is the policy's own word
	}
	return n
}

// telling collects the rounds of a game. A nil one collects nothing.
type telling struct {
	begin  scheduler.Time
	rounds []toldRound
}

type toldRound struct {
	number uint64
	lines  []string
}

// round collects a round and the answer; d is nil when there was none.
func (t *telling) round(c *cluster.Cluster, r scheduler.Round, d *scheduler.Decisions) {
	if t == nil {
		return
	}
	if t.begin == 0 {
		t.begin = c.Epoch()
	}
	lines := []string{fmt.Sprintf("round %d, at %s:", r.Number, seconds(r.Now.Sub(t.begin).Round(time.Millisecond)))}
	var told []string
	for _, e := range r.Events {
		told = append(told, eventWords(e))
	}
	lines = append(lines, shortened(told, "  ")...)
	answer := []string{"gave no answer"}
	if d != nil {
		answer = t.answerWords(*d)
	}
	lines = append(lines, shortened(answer, "  the policy ")...)
	t.rounds = append(t.rounds, toldRound{r.Number, lines})
}

// shortened leaves lines out behind the first toldMax, and says how many.
func shortened(list []string, before string) (lines []string) {
	for i, l := range list {
		if i == toldMax {
			return append(lines, fmt.Sprintf("%sand %d more of that", before, len(list)-i))
		}
		lines = append(lines, cut(before+l, toldWidth))
	}
	return lines
}

// lines tell the rounds up to last, 0 for all, without those in the middle of many.
func (t *telling) lines(last uint64) (all []string) {
	rounds := t.rounds
	if i := slices.IndexFunc(rounds, func(r toldRound) bool { return r.number == last }); i >= 0 {
		rounds = rounds[:i+1]
	}
	for i, r := range rounds {
		if left := len(rounds) - toldFirst - toldLast; left > 0 && i >= toldFirst && i < toldFirst+left {
			if i == toldFirst {
				all = append(all, fmt.Sprintf("… %d rounds are left out …", left))
			}
			continue
		}
		all = append(all, r.lines...)
	}
	return all
}
