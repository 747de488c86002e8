package core_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/hamadryad/hamadryad/engine/auth/access"
	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/job/elements"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// whereRuns finds the launcher of a live attempt.
func (s *story) whereRuns(t *testing.T, d *datadriven.TestData, attempt string) core.LauncherInfo {
	if on := s.Core.RunsOn(scheduler.AttemptID(number(attempt))); on != "" {
		l, _ := s.Core.Launcher(on)
		return l
	}
	t.Fatalf("%s: attempt %s does not live", d.Pos, attempt)
	return core.LauncherInfo{}
}

// report sends a launcher's report.
func (s *story) report(l core.LauncherInfo, r *wire.Report) {
	r.Incarnation = l.Incarnation
	s.step(wire.NewReport(uint64(l.Launcher), r))
}

// set changes settings: durations and numbers by their JSON names.
func (s *story) set(t *testing.T, named map[string]string) {
	for name, value := range named {
		if d, err := time.ParseDuration(value); err == nil {
			value = strconv.FormatInt(int64(d), 10)
		}
		parsed, err := core.ParseSettings([]byte(fmt.Sprintf(`{%q: %s, "identity": "story"}`, name, value)))
		if err != nil {
			t.Fatal(err)
		}
		s.step(wire.NewInput(&wire.SiteSettings{Json: parsed.JSON()}))
	}
}

// join joins a launcher: kind=count for slots, memory and swap in MiB; running, ended and stored
// list attempts.
func (s *story) join(name string, named map[string]string) {
	m := &wire.Join{Name: name, Host: "host-" + name, Rack: named["rack"], Memory: 8 << 30, DataAddress: name, CanSuspend: true, HoldsAhead: named["old"] == "", Incarnation: s.inc[name]}
	if named["again"] == "" {
		s.inc[name]++
		m.Incarnation = s.inc[name]
	}
	if n := named["memory"]; n != "" {
		m.Memory = int64(number(n)) << 20
	}
	m.Swap = int64(number(named["swap"])) << 20
	m.Resources = resources(named["resources"])
	for _, r := range m.Resources {
		r.FreedBySuspension = slices.Contains(strings.Split(named["frees"], ","), r.Kind)
	}
	for _, kind := range []string{"default", "map", "reduce"} {
		if n := named[kind]; n != "" {
			m.Slots = append(m.Slots, &wire.Slots{Kind: kind, Count: uint32(number(n))})
		}
	}
	for state, text := range map[wire.AttemptInventory_State]string{
		wire.AttemptInventory_STATE_RUNNING: named["running"], wire.AttemptInventory_STATE_ENDED: named["ended"],
	} {
		if text != "" {
			for a := range strings.SplitSeq(text, ",") {
				m.Attempts = append(m.Attempts, &wire.AttemptInventory{Attempt: number(a), State: state})
			}
		}
	}
	m.Seen, m.Term = number(named["seen"]), number(named["term"])
	if n := number(named["has"]); n != 0 {
		m.Jobs = []uint64{n}
	}
	if text := named["stored"]; text != "" {
		for a := range strings.SplitSeq(text, ",") {
			m.Stored = append(m.Stored, &wire.Stored{Job: number(named["job"]), Attempt: number(a)})
		}
	}
	s.step(wire.NewInput(&wire.LauncherJoin{Join: m}))
}

// restart begins a life of the manager from the kept checkpoint, as if the log had lost the rest,
// with the age of its data.
func (s *story) restart(t *testing.T, text string) {
	age, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	c, err := core.Restore(s.kept)
	if err != nil {
		t.Fatal(err)
	}
	s.Restart(c)
	s.round, s.events = nil, nil
	s.step(wire.NewInput(&wire.ManagerStart{Term: core.Term(c.Term(), age), AgeNs: int64(age)}))
	s.say("term %d", c.Term())
}

// load reports how busy a launcher's machine is; values not given are unknown.
func (s *story) load(name string, named map[string]string) {
	m := &wire.MachineLoad{}
	for key, to := range map[string]**float64{"cpu": &m.Cpu, "memory": &m.Memory} {
		if x, err := strconv.ParseFloat(named[key], 64); err == nil {
			*to = &x
		}
	}
	l, _ := s.Core.Launcher(name)
	if named["life"] != "" {
		l.Incarnation = number(named["life"])
	}
	s.report(l, &wire.Report{What: &wire.Report_Load{Load: m}})
}

// submit reads a graph, a stage or a connection a line:
//
//	map 3 slots=2 kind=map prefer=reduce
//	map -> reduce all file slow=0.05
//	map -> reduce all file partitions=4 bytes=100 split=true sizes=10,20,300M,40
//	map -> combine all file aggregate=machine bytes=100
func (s *story) submit(t *testing.T, d *datadriven.TestData, name string, named map[string]string) {
	spec := &wire.JobSpec{Name: name, Pool: named["pool"], Graph: &wire.Graph{}, Principal: principal(named), Program: named["program"]}
	if o := named["outputs"]; o != "" {
		spec.Outputs = strings.Split(o, ",")
	}
	spec.Limits, spec.After = s.limits(t, named), after(named)
	stages := map[string]uint32{}
	var sizes []string // of partitions, by connection
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		opts := map[string]string{}
		for _, x := range f {
			if k, v, ok := strings.Cut(x, "="); ok {
				opts[k] = v
			}
		}
		if f[1] == "->" {
			c := &wire.Connection{FromStage: stages[f[0]], FromPort: "out", ToStage: stages[f[2]], ToPort: "in"}
			c.Pattern = map[string]wire.Pattern{"all": wire.Pattern_PATTERN_ALL_TO_ALL, "one": wire.Pattern_PATTERN_ONE_TO_ONE}[f[3]]
			c.Kind = wire.ChannelKind(wire.ChannelKind_value["CHANNEL_KIND_"+strings.ToUpper(f[4])])
			c.SlowStart, _ = strconv.ParseFloat(opts["slow"], 64)
			if opts["partitions"] != "" {
				c.Adapt = &wire.Adapt{Partitions: uint32(number(opts["partitions"])), Bytes: int64(number(opts["bytes"])), Split: opts["split"] != ""}
			}
			if by := opts["aggregate"]; by != "" {
				c.Aggregate = &wire.Aggregate{Level: wire.Level(wire.Level_value["LEVEL_"+strings.ToUpper(by)]), Bytes: int64(number(opts["bytes"]))}
			}
			sizes = append(sizes, opts["sizes"])
			spec.Graph.Connections = append(spec.Graph.Connections, c)
			continue
		}
		stages[f[0]] = uint32(len(spec.Graph.Stages))
		spec.Graph.Stages = append(spec.Graph.Stages, &wire.Stage{
			Name: f[0], Nodes: uint32(number(f[1])), Slots: uint32(number(opts["slots"])), Kind: opts["kind"], PreferKind: opts["prefer"],
			Resources: resources(opts["resources"]), AttemptsMax: uint32(number(opts["attempts"])),
		})
		if opts["elements"] != "" {
			spec.Graph.Stages[stages[f[0]]].Elements = &wire.Elements{Ranges: s.elements(t, opts), AtOnce: uint32(number(opts["atonce"]))}
		}
	}
	out := s.out
	s.step(wire.NewInput(&wire.Prepare{Client: 1, Principal: principal(named)}))
	s.out = out
	if g, err := graph.Expand(spec.Graph, s.Core.Settings().MemoryDefault, graph.DefaultLimits()); err == nil {
		s.jobs[s.job] = &simcluster.Job{Graph: g, Outputs: len(spec.Outputs) > 0, Size: func(conn int, from uint32, partition int) int64 { return sizeIn(sizes[conn], from, partition) }}
	}
	s.step(wire.NewInput(&wire.Submit{Client: 2, Job: s.job, Spec: spec, Ended: history(named)}))
}

// sizeIn is a partition's size in a list, by partition; 100 without a list. Writers have the same.
func sizeIn(list string, _ uint32, partition int) int64 {
	if list == "" {
		return 100
	}
	text, mebi := strings.CutSuffix(strings.Split(list, ",")[partition], "M")
	n := int64(number(text))
	if mebi {
		n <<= 20
	}
	return n
}

// elements reads the elements of a job array: elements=0-9:3.
func (s *story) elements(t *testing.T, named map[string]string) []*wire.ElementRange {
	if named["elements"] == "" {
		return nil
	}
	set, err := elements.Parse(named["elements"])
	if err != nil {
		t.Fatal(err)
	}
	return wire.ElementRanges(set)
}

// after reads the jobs that a job waits for: after=job-1,job-2:any.
func after(named map[string]string) (list []*wire.JobDependency) {
	for text := range strings.FieldsFuncSeq(named["after"], func(r rune) bool { return r == ',' }) {
		id, end, _ := strings.Cut(text, ":")
		list = append(list, &wire.JobDependency{Job: number(id), Any: end == "any"})
	}
	return list
}

// history reads ended jobs that the core has forgotten: ended=job-1:failed, of a user and pool.
func history(named map[string]string) (list []*wire.JobSummary) {
	for text := range strings.FieldsFuncSeq(named["ended"], func(r rune) bool { return r == ',' }) {
		id, end, _ := strings.Cut(text, ":")
		state := wire.JobState(wire.JobState_value["JOB_STATE_"+strings.ToUpper(end)])
		list = append(list, &wire.JobSummary{Job: number(id), State: state, User: named["of"]})
	}
	return list
}

// resources reads countable resources such as gpu:2,license:1.
func resources(text string) []*wire.ResourceCount {
	r, err := scheduler.ParseResources(text)
	if err != nil {
		panic(err)
	}
	return wire.ResourceCounts(r)
}

// limits reads a job's limit=DURATION, deadline=DURATION from now, and fail=yes at the deadline.
func (s *story) limits(t *testing.T, named map[string]string) *wire.JobLimits {
	m := &wire.JobLimits{FailAtDeadline: named["fail"] != ""}
	if text := named["limit"]; text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		m.TimeLimitNs = int64(d)
	}
	if text := named["deadline"]; text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		m.Deadline = int64(s.Now().Add(d))
	}
	return m
}

// policy starts the next generation, and makes it take over.
func (s *story) policy(named map[string]string) {
	s.gen++
	s.step(wire.NewInput(&wire.PolicyStart{Generation: s.gen, Policy: cmp.Or(named["named"], "p")}))
	s.settle()
	s.step(wire.NewInput(&wire.PolicyStarted{
		Generation: s.gen, Name: "p", Version: "1", Abilities: uint32(abilities(named["able"])),
	}))
}

func abilities(names string) (able scheduler.Ability) {
	for name := range strings.SplitSeq(names, ",") {
		able |= map[string]scheduler.Ability{"resume": scheduler.AbilityResume, "admission": scheduler.AbilityAdmission, "progress": scheduler.AbilityProgress, "load": scheduler.AbilityLoad, "ahead": scheduler.AbilityAhead}[name]
	}
	return able
}

// decision makes the policy decide one thing, and prints its outcome.
func (s *story) decision(cmd, first string, rest []string, named map[string]string) {
	s.settle()
	s.version++
	if cmd == "settings" {
		s.step(wire.NewInput(&wire.SettingsChange{Version: s.version}))
	} else {
		s.step(wire.NewInput(&wire.Note{Name: "think"}))
	}
	var d scheduler.Decisions
	switch cmd {
	case "launch":
		d.Launch = []scheduler.Launch{{Bundle: scheduler.BundleID(number(first)), Launchers: s.ids(rest), Ahead: named["ahead"] != ""}}
	case "preempt":
		mode := map[string]scheduler.PreemptMode{"kill": scheduler.PreemptKill, "soft": scheduler.PreemptSoft, "suspend": scheduler.PreemptSuspend}[named["mode"]]
		p := scheduler.Preempt{Mode: mode, Grace: 3 * time.Second, For: scheduler.JobID(number(named["for"])), Bundle: scheduler.BundleID(number(named["bundle"]))}
		for _, v := range append([]string{first}, rest...) {
			p.Victims = append(p.Victims, scheduler.AttemptID(number(v)))
		}
		d.Preempt = []scheduler.Preempt{p}
	case "reserve":
		lasts, _ := time.ParseDuration(named["for"])
		until := s.Now().Add(lasts)
		d.Reserve = []scheduler.Reserve{{Bundle: scheduler.BundleID(number(first)), Launchers: s.ids(rest), Until: until}}
	case "speculate":
		d.Speculate = []scheduler.Speculate{{Bundle: scheduler.BundleID(number(first))}}
	case "resume":
		d.Resume = []scheduler.Resume{{Attempt: scheduler.AttemptID(number(first))}}
	case "settings":
		d.Settings = []scheduler.SettingsVerdict{{Version: s.version, Abilities: abilities(named["able"])}}
	case "admit":
		d.Admit = []scheduler.Admit{{Job: scheduler.JobID(number(first)), Pool: named["to"]}}
	}
	number := s.round.number
	s.decide(d)
	if cmd == "settings" {
		return // it has no outcome
	}
	for s.round == nil {
		s.step()
	}
	for _, e := range s.events {
		if o, ok := e.(scheduler.Outcome); ok && o.Round == number && !o.Accepted {
			s.say("refused: %s: %s", o.Reason, o.Detail)
		}
	}
}

func (s *story) ids(names []string) (ids []scheduler.LauncherID) {
	for _, n := range names {
		l, _ := s.Core.Launcher(n)
		ids = append(ids, l.Launcher)
	}
	return ids
}

// finishReport ends an attempt with the outputs of all its nodes.
func (s *story) finishReport(t *testing.T, d *datadriven.TestData, name string, named map[string]string) *wire.Report {
	s.whereRuns(t, d, name)
	return s.endReport(name, named)
}

// endReport is the end of an attempt, whether it lives or not.
func (s *story) endReport(name string, named map[string]string) *wire.Report {
	m := s.starts[number(name)]
	e := &wire.AttemptEnded{}
	if m.Finish == nil {
		e = s.jobs[m.Job].Product(m)
	}
	e.Attempt, e.End, e.Next = m.Attempt, wire.End_END_FINISHED, number(named["next"])
	if named["sizes"] != "" {
		for i := range e.Stored[0].PartitionBytes {
			e.Stored[0].PartitionBytes[i] = sizeIn(named["sizes"], 0, i)
		}
	}
	if named["published"] != "" {
		for i := range strings.SplitSeq(named["published"], ",") {
			e.Published = append(e.Published, uint32(number(i)))
		}
	}
	if name := named["file"]; name != "" {
		n := m.Nodes[0]
		e.Files = append(e.Files, &wire.CommittedFile{Name: name, Temporary: fmt.Sprintf("a%d.%s", m.Attempt, name), Stage: n.Stage, Index: n.Index})
	}
	return &wire.Report{What: &wire.Report_Ended{Ended: e}}
}

// wait lets time pass; the core is woken when its timers are due.
func (s *story) wait(t *testing.T, text string) {
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	end := s.Now().Add(d)
	for {
		s.settle()
		if at, ok := s.Upcoming(); !ok || at > end {
			break
		}
		s.Next()
	}
	s.Pass(end)
	s.step(wire.Tick())
}

func (s *story) status(id scheduler.JobID) {
	st, ok := s.Core.JobStatus(id, false)
	if !ok {
		s.say("not known")
		if f := s.Core.Lost(id); f != nil {
			s.say("%s", f.Message)
		}
		return
	}
	s.say("%s", strings.ToLower(strings.TrimPrefix(st.Summary.State.String(), "JOB_STATE_")))
	for _, x := range st.Stages {
		failures := ""
		if x.GivenUp > 0 {
			failures = fmt.Sprintf(" %d given up", x.GivenUp)
		}
		if x.Failures > 0 {
			failures += fmt.Sprintf(" %d failures", x.Failures)
		}
		s.say("%s: %d waiting %d ready %d running %d suspended %d finished%s", x.Name, x.Waiting, x.Ready, x.Running, x.Suspended, x.Finished, failures)
	}
	for _, w := range st.Waiting {
		s.say("waits: %s", w)
	}
	if st.Failure != nil {
		s.say("failure: %s", st.Failure.Message)
	}
}

// reserved lists the reservations.
func (s *story) reserved() {
	for _, l := range s.Core.World().Launchers {
		for _, r := range l.Offer.Reserved {
			whose := r.Job.String()
			if r.Bundle != 0 {
				whose = fmt.Sprintf("b%d of %s", r.Bundle, whose)
			}
			s.say("%s: %d %s for %s", s.launcherName(l.ID), r.Slots, r.Kind, whose)
		}
	}
}

// tellEvents lists the policy's events since the last call.
func (s *story) tellEvents(sizes bool) {
	for _, e := range s.events {
		switch e := e.(type) {
		case scheduler.BundleReady:
			text := fmt.Sprintf("ready b%d avoid %v", e.Bundle, e.Avoid)
			for _, p := range e.Groups[0].Places {
				text += fmt.Sprintf(" near %s", p.Host)
			}
			if n := e.Groups[0].InputBytes; sizes && n > 0 {
				text += fmt.Sprintf(" to read %d bytes", n)
			}
			s.say("%s", text)
		case scheduler.BundleWithdrawn:
			s.say("withdrawn b%d", e.Bundle)
		case scheduler.BundleReopened:
			s.say("reopened b%d", e.Bundle)
		case scheduler.BundleGivenUp:
			s.say("given up b%d %t", e.Bundle, e.GivenUp)
		case scheduler.BundleReserved:
			s.say("reserved b%d on %v", e.Bundle, e.Launchers)
		case scheduler.ReservationEnded:
			s.say("reservation of b%d ended: %s", e.Bundle, e.End)
		case scheduler.SpeculationOffered:
			s.say("speculation offered b%d avoid %v", e.Bundle, e.Avoid)
		case scheduler.SpeculationWithdrawn:
			s.say("speculation withdrawn b%d", e.Bundle)
		case scheduler.AttemptStarted:
			s.say("started a%d", e.Attempt)
		case scheduler.AttemptTookSlots:
			s.say("a%d took slots", e.Attempt)
		case scheduler.AttemptProgress:
			s.say("progress a%d %g", e.Attempt, e.Progress)
		case scheduler.SuspensionFailed:
			s.say("a%d could not be suspended", e.Attempt)
		case scheduler.AttemptStopping:
			s.say("stopping a%d", e.Attempt)
		case scheduler.AttemptEnded:
			s.say("ended a%d %s", e.Attempt, e.Outcome)
		case scheduler.AttemptSuspended:
			s.say("suspended a%d", e.Attempt)
		case scheduler.AttemptResumed:
			s.say("resumed a%d", e.Attempt)
		case scheduler.UserLimitSet:
			s.say("user %s is limited to %s", e.User, e.Limit)
		case scheduler.JobSubmitted:
			s.say("submitted %s", e.Job.ID)
		case scheduler.StageGrown:
			s.say("%v: stage %d takes %s slots, and has %d groups", e.Job, e.Stage, e.Kind, e.Groups)
		case scheduler.JobFinished:
			s.say("finished %s %s", e.Job, e.Outcome)
		case scheduler.LauncherJoined:
			s.say("joined %s", e.Name)
		case scheduler.LauncherLost:
			s.say("lost launcher %d", e.Launcher)
		case scheduler.LauncherDraining:
			s.say("draining launcher %d %t", e.Launcher, e.Draining)
		case scheduler.LauncherExcluded:
			s.say("excluded launcher %d %t", e.Launcher, e.Excluded)
		case scheduler.LauncherLoad:
			s.say("launcher %d has load %v and %v", e.Launcher, e.CPU, e.Memory)
		case scheduler.AdmissionAsked:
			s.say("asked about %s", e.Job.ID)
		case scheduler.Outcome:
			if e.Kind == scheduler.DecisionLaunch && e.Accepted {
				s.say("launched b%d %d", e.Launch.Bundle, e.Attempts)
			}
		}
	}
	s.events = nil
}

// offers lists the launchers' offers, in MiB.
func (s *story) offers() {
	for _, l := range s.Core.World().Launchers {
		o := l.Offer
		s.say("%d: free %v and %d MiB, suspended %d with %d MiB, swap %d MiB, reserved %v", o.Launcher, o.Free, o.Memory>>20, o.Suspended, o.Held>>20, o.Swap>>20, keptFor(o.Reserved))
		if r := o.Resources.Plus(o.ForResumeResources); !l.Resources.IsZero() {
			s.say("%d: free resources %q of %q", o.Launcher, r, l.Resources)
		}
		for _, x := range o.Ahead {
			if x.Count > 0 {
				s.say("%d: %d of stage %d of %s ahead", o.Launcher, x.Count, x.Stage, x.Job)
			} else {
				s.say("%d: %d of stage %d of %s ahead of a launch", o.Launcher, x.PerLaunch, x.Stage, x.Job)
			}
		}
		if o.ForResume != nil {
			s.say("%d: to go on %v and %d MiB", o.Launcher, o.ForResume, o.ForResumeMemory>>20)
		}
	}
}

// keptFor describes reservations.
func keptFor(list []scheduler.Reservation) (texts []string) {
	for _, r := range list {
		text := fmt.Sprintf("{%s %v %s %d %d", r.Job, r.Bundle, r.Kind, r.Slots, r.Memory)
		if !r.Resources.IsZero() {
			text += " " + r.Resources.String()
		}
		texts = append(texts, text+"}")
	}
	return texts
}

// principal is the caller: ann, unless as names another.
func principal(named map[string]string) *wire.Principal {
	p := &wire.Principal{Name: cmp.Or(named["as"], "ann"), Proof: "certificate"}
	if g := named["groups"]; g != "" {
		p.Groups = strings.Split(g, ",")
	}
	return p
}

// limitsChange reads limit=DURATION, deadline=DURATION from now, and fail=yes or no; 0s removes a limit.
func (s *story) limitsChange(t *testing.T, named map[string]string) *wire.JobLimitsChange {
	if named["limit"] == "" && named["deadline"] == "" && named["fail"] == "" {
		return nil
	}
	l := s.limits(t, named)
	m := &wire.JobLimitsChange{}
	if named["limit"] != "" {
		m.TimeLimitNs = &l.TimeLimitNs
	}
	if named["deadline"] == "0s" {
		l.Deadline = 0
	}
	if named["deadline"] != "" {
		m.Deadline = &l.Deadline
	}
	if fail := named["fail"] == "yes"; named["fail"] != "" {
		m.FailAtDeadline = &fail
	}
	return m
}

// access runs the commands about permissions and rules.
func (s *story) access(t *testing.T, d *datadriven.TestData, job uint64, named map[string]string) {
	switch d.Cmd {
	case "access":
		rules, err := access.Parse(scheduler.Config{Text: []byte(d.Input)})
		if err != nil {
			t.Fatal(err)
		}
		set := s.Core.Settings()
		set.Access, s.shown = rules, true
		s.step(wire.NewInput(&wire.SiteSettings{Json: set.JSON()}))
	case "move":
		m := &wire.UpdateJob{Client: 9, Job: job, Principal: principal(named)}
		if to, ok := named["to"]; ok {
			m.Pool = &to
		}
		if text, ok := named["priority"]; ok {
			n := int32(number(text))
			m.Priority = &n
		}
		m.Limits = s.limitsChange(t, named)
		s.step(wire.NewInput(m))
	case "announce":
		s.step(wire.NewInput(&wire.Prepare{Client: 1, Principal: principal(named)}))
	case "take": // a reserved id
		s.step(wire.NewInput(&wire.Submit{Client: 2, Job: job, Spec: &wire.JobSpec{
			Name: "taken", Pool: named["pool"], Principal: principal(named), Graph: &wire.Graph{Stages: []*wire.Stage{{Name: "map", Nodes: 1}}},
		}}))
	}
}
