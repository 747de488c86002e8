package show

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// policyView is the policy for programs. Values of the REST interface have its names
// (restapi.Policy).
type policyView struct {
	Name             string                  `json:"name"` // in the configuration, or "fallback"
	Version          *string                 `json:"version,omitempty"`
	Configured       string                  `json:"configured"`
	State            restapi.PolicyState     `json:"state"`
	Generation       *int64                  `json:"generation,omitempty"`
	Since            *time.Time              `json:"since,omitempty"`
	Restarts         int                     `json:"restarts"`
	RoundsDecided    uint64                  `json:"roundsDecided"`
	DecisionsRefused uint64                  `json:"decisionsRefused"`
	Program          *programView            `json:"program,omitempty"`
	Memory           *int64                  `json:"memory,omitempty"`    // bytes
	MemoryMax        *int64                  `json:"memoryMax,omitempty"` // bytes
	Settings         settingsView            `json:"settings"`
	Rounds           *restapi.RoundTimes     `json:"rounds,omitempty"`
	Problems         []restapi.PolicyProblem `json:"problems"`
	Shadows          []restapi.PolicyShadow  `json:"shadows"`
	Facts            []restapi.Property      `json:"facts"`
	Pools            []restapi.PoolShare     `json:"pools"`
	Queue            []queuedView            `json:"queue"`
}

// programView is the process of the policy.
type programView struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	PID    int64  `json:"pid"`
}

// settingsView is the policy's settings.
type settingsView struct {
	From  string   `json:"from"` // FILE:LINE, or default
	Text  string   `json:"text"` // YAML
	Files []string `json:"files"`
}

// queuedView is a waiting job, in the policy's order.
type queuedView struct {
	Job  string `json:"job"`
	Turn string `json:"turn,omitempty"`
}

// viewOf is a policy for programs, with its own status.
func viewOf(r *wire.PolicyReply, told *scheduler.Status) *policyView {
	p := restapi.PolicyOf(r)
	v := &policyView{
		Name: p.Name, Version: p.Version, Configured: p.Configured, State: p.State, Generation: p.Generation, Since: p.Since, Restarts: p.Restarts,
		RoundsDecided: r.Rounds, DecisionsRefused: r.Refusals, Memory: p.Memory, MemoryMax: p.MemoryMax, Rounds: p.Rounds, Problems: p.Problems, Shadows: p.Shadows,
		Settings: settingsView{settingsFrom(r.Settings), string(r.Settings.GetText()), append([]string{}, r.Settings.GetFiles()...)},
		Facts:    []restapi.Property{}, Pools: []restapi.PoolShare{}, Queue: []queuedView{},
	}
	if r.Path != "" {
		v.Program = &programView{r.Path, r.Checksum, r.Pid}
	}
	for _, f := range told.Facts {
		v.Facts = append(v.Facts, restapi.Property{Name: f.Name, Value: f.Value})
	}
	for i := range told.Pools {
		v.Pools = append(v.Pools, restapi.PoolShareOf(&told.Pools[i]))
	}
	for _, q := range told.Queue {
		v.Queue = append(v.Queue, queuedView{q.Job.String(), q.Why})
	}
	return v
}

// toldOf is the policy's status; empty where it has none.
func toldOf(r *wire.PolicyReply) (*scheduler.Status, error) {
	if len(r.Status) == 0 {
		return &scheduler.Status{}, nil
	}
	m := &schedwire.Status{}
	err := proto.Unmarshal(r.Status, m)
	var s scheduler.Status
	if err == nil {
		s, err = m.Decode()
	}
	if err != nil {
		return nil, fmt.Errorf("the policy's status can't be read: %w", err)
	}
	return &s, nil
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
	term, n := wire.SplitEpochID(g)
	return fmt.Sprintf("%d.%d", term, n)
}

// Policy shows the deciding policy, and its pools; as names the pools alone.
func (c *Printer) Policy(r *wire.PolicyReply) error {
	told, err := toldOf(r)
	if err != nil {
		return err
	}
	if c.structured() {
		return c.value(viewOf(r, told))
	}
	if c.Format != Name {
		c.printPolicy(r, told)
	}
	if len(told.Pools) == 0 {
		return c.none("the policy shows no pools")
	}
	t := c.table("POOL", "PARENT", "KIND", "WEIGHT", "MIN", "MAX", "SHARE", "DEMAND", "RUNNING", "JOBS")
	for _, p := range told.Pools {
		t.row(p.Name, orDash(p.Parent), orDash(p.Kind), fmt.Sprintf("%g", p.Weight), count(p.MinShare), limit(p.MaxShare),
			fmt.Sprintf("%.1f", p.FairShare), count(p.Demand), count(p.Running), count(p.Jobs))
	}
	return t.end()
}

// printPolicy prints the policy's state and problems, and its program, settings and rounds.
func (c *Printer) printPolicy(r *wire.PolicyReply, told *scheduler.Status) {
	fmt.Fprintf(c.Out, "%s %s: %s, generation %s, %d restarts, %d rounds, %d decisions refused\n",
		r.Name, r.Version, r.State, Generation(r.Generation), r.Restarts, r.Rounds, r.Refusals)
	for _, p := range r.Problems {
		fmt.Fprintf(c.Out, "problem (%s), %s ago: %s\n", p.What, ago(p.At), indented(p.Text))
	}
	if r.Path != "" {
		fmt.Fprintf(c.Out, "program: %s, SHA-256 %s\n", r.Path, r.Checksum)
		fmt.Fprintf(c.Out, "process: %d, %s of memory, at most %s\n", r.Pid, size(r.Memory), size(r.MemoryMax))
		fmt.Fprintf(c.Out, "settings (%s): %s\n", settingsFrom(r.Settings), indented(orDash(string(r.Settings.GetText()))))
		for _, f := range r.Settings.GetFiles() {
			fmt.Fprintf(c.Out, "  file: %s\n", f)
		}
	}
	t := r.RoundTimes
	fmt.Fprintf(c.Out, "rounds: last %s, mean %s, longest %s; %d took over %s\n",
		short(t.GetLast()), short(t.GetMean()), short(t.GetLongest()), t.GetSlowRounds(), short(t.GetSlow()))
	if t.GetUnderWay() > t.GetSlow() {
		fmt.Fprintf(c.Out, "a round has not been answered for %s\n", short(t.GetUnderWay()))
	}
	for _, f := range told.Facts {
		fmt.Fprintf(c.Out, "%s: %s\n", f.Name, f.Value)
	}
	for _, s := range r.Shadows {
		c.printShadow(s)
	}
}

// printShadow prints a policy that decides without effect, and how far it agrees.
func (c *Printer) printShadow(s *wire.PolicyShadow) {
	fmt.Fprintf(c.Out, "shadow %s: %s, %d restarts, %d rounds, %d joined with later ones, %d not sent to it, mean %s\n", strings.TrimRight(s.Name+" "+s.Version, " "), s.State, s.Restarts, s.Rounds, s.RoundsJoined, s.RoundsDropped, short(s.AnswerMean))
	if s.Problem != "" {
		fmt.Fprintf(c.Out, "  problem: %s\n", indented(s.Problem))
	}
	agrees := "-"
	if part := restapi.PolicyShadowOf(s).Agreement; part != nil {
		agrees = fmt.Sprintf("%.1f %%", 100**part)
	}
	fmt.Fprintf(c.Out, "  agreement: %s; of %d launches in force the same %d (same round %d, same launchers %d), only the shadow's %d\n",
		agrees, s.Launches, s.Same, s.SameRound, s.SamePlace, s.Only)
	fmt.Fprintf(c.Out, "  preempted attempts: %d, the same %d, only the shadow's %d\n", s.Victims, s.VictimsSame, s.VictimsOnly)
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
