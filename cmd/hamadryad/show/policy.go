package show

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/manager/number"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// policyView is what -o json shows.
type policyView struct {
	Policy     string `json:"policy"` // by which the configuration names it
	Name       string `json:"name"`   // that it gives itself, "builtin" for the FIFO that took over
	Version    string `json:"version"`
	State      string `json:"state"`
	Generation uint64 `json:"generation"`
	Restarts   uint32 `json:"restarts"`
	Rounds     uint64 `json:"rounds"`
	Refusals   uint64 `json:"refusals"`

	Path      string `json:"path"`
	Checksum  string `json:"checksum"`
	PID       int64  `json:"pid"`
	Memory    int64  `json:"memory"`
	MemoryMax int64  `json:"memoryMax"`

	Settings     string   `json:"settings"`
	SettingsFrom string   `json:"settingsFrom"`
	Files        []string `json:"files"`

	RoundTimes roundView     `json:"roundTimes"`
	Problems   []problemView `json:"problems"`

	Status *scheduler.Status `json:"status"`
}

// roundView is in nanoseconds.
type roundView struct {
	Last       int64  `json:"last"`
	Mean       int64  `json:"mean"`
	Longest    int64  `json:"longest"`
	UnderWay   int64  `json:"underWay"`
	Slow       int64  `json:"slow"`
	SlowRounds uint64 `json:"slowRounds"`
}

type problemView struct {
	What string    `json:"what"`
	Text string    `json:"text"`
	At   time.Time `json:"at"`
}

// viewOf turns the manager's answer into what is shown.
func viewOf(r *wire.PolicyReply) (*policyView, error) {
	t := r.RoundTimes
	v := &policyView{
		Policy: r.Policy, Name: r.Name, Version: r.Version, State: r.State, Generation: r.Generation,
		Restarts: r.Restarts, Rounds: r.Rounds, Refusals: r.Refusals,
		Path: r.Path, Checksum: r.Checksum, PID: r.Pid, Memory: r.Memory, MemoryMax: r.MemoryMax,
		Settings: string(r.Settings.GetText()), SettingsFrom: settingsFrom(r.Settings), Files: r.Settings.GetFiles(),
		RoundTimes: roundView{t.GetLast(), t.GetMean(), t.GetLongest(), t.GetUnderWay(), t.GetSlow(), t.GetSlowRounds()},
	}
	for _, p := range r.Problems {
		v.Problems = append(v.Problems, problemView{p.What, p.Text, time.Unix(0, p.At).UTC()})
	}
	if len(r.Status) == 0 {
		return v, nil
	}
	m := &schedwire.Status{}
	if err := proto.Unmarshal(r.Status, m); err != nil {
		return nil, fmt.Errorf("the policy's status can't be read: %w", err)
	}
	s, err := m.Decode()
	if err != nil {
		return nil, fmt.Errorf("the policy's status can't be read: %w", err)
	}
	v.Status = &s
	return v, nil
}

func settingsFrom(s *wire.PolicySettings) string {
	switch {
	case len(s.GetText()) == 0:
		return "default"
	case s.Line > 0:
		return fmt.Sprintf("%s:%d", s.File, s.Line)
	}
	return s.File
}

// Generation writes a generation as the manager's term and the number in it.
func Generation(g uint64) string {
	term, n := number.Apart(g)
	return fmt.Sprintf("%d.%d", term, n)
}

// Policy shows the policy that decides, and its pools.
func (c *Printer) Policy(r *wire.PolicyReply) error {
	v, err := viewOf(r)
	if err != nil {
		return err
	}
	if c.json() {
		return c.writeJSON(v)
	}
	fmt.Fprintf(c.Out, "%s %s: %s, generation %s, %d restarts, %d rounds, %d decisions refused\n",
		v.Name, v.Version, v.State, Generation(v.Generation), v.Restarts, v.Rounds, v.Refusals)
	for _, p := range v.Problems {
		fmt.Fprintf(c.Out, "problem (%s), %s ago: %s\n", p.What, span(time.Since(p.At)), indented(p.Text))
	}
	c.printProgram(v)
	if v.Status == nil {
		return nil
	}
	for _, f := range v.Status.Facts {
		fmt.Fprintf(c.Out, "%s: %s\n", f.Name, f.Value)
	}
	t := newTable(c.Out, "POOL", "PARENT", "KIND", "WEIGHT", "MIN", "MAX", "SHARE", "DEMAND", "RUNNING", "JOBS")
	for _, p := range v.Status.Pools {
		t.row(p.Name, orDash(p.Parent), orDash(p.Kind), fmt.Sprintf("%g", p.Weight), count(p.MinShare), limit(p.MaxShare),
			fmt.Sprintf("%.1f", p.FairShare), count(p.Demand), count(p.Running), count(p.Jobs))
	}
	return t.end()
}

// printProgram tells of the program that decides, of its settings and its rounds.
func (c *Printer) printProgram(v *policyView) {
	if v.Path != "" {
		fmt.Fprintf(c.Out, "program: %s, SHA-256 %s\n", v.Path, v.Checksum)
		fmt.Fprintf(c.Out, "process: %d, %s of memory, at most %s\n", v.PID, humanize.IBytes(uint64(v.Memory)), humanize.IBytes(uint64(v.MemoryMax)))
		fmt.Fprintf(c.Out, "settings (%s): %s\n", v.SettingsFrom, indented(orDash(v.Settings)))
		for _, f := range v.Files {
			fmt.Fprintf(c.Out, "  file: %s\n", f)
		}
	}
	t := v.RoundTimes
	fmt.Fprintf(c.Out, "rounds: last %s, mean %s, longest %s; %d took over %s\n",
		short(t.Last), short(t.Mean), short(t.Longest), t.SlowRounds, short(t.Slow))
	if t.UnderWay > t.Slow {
		fmt.Fprintf(c.Out, "a round has not been answered for %s\n", short(t.UnderWay))
	}
}

// short writes nanoseconds for people.
func short(ns int64) string {
	d := time.Duration(ns)
	if d < time.Second {
		return d.Round(10 * time.Microsecond).String()
	}
	return span(d)
}

// indented puts a text of several lines below the line that it begins on.
func indented(text string) string {
	text = strings.TrimRight(text, "\n")
	if !strings.Contains(text, "\n") {
		return printable(text)
	}
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString("\n  " + printable(line))
	}
	return b.String()
}

// printable keeps tabs, which stacks are full of.
func printable(line string) string {
	return scheduler.Printable(strings.ReplaceAll(line, "\t", "    "))
}
