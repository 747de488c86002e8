package core_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/loop"
	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// TestStories runs the scripts in testdata/stories: inputs of people, launchers and the policy, and
// the core's commands to launchers. The expected output was written from the contract before the
// first run.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		s := newStory()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return s.play(t, d)
		})
	})
}

// story is a core on a clock, with a policy that decides as the script says.
type story struct {
	loop.Loop
	confirm uint64 // of the last update of sources
	job     uint64 // the last that was reserved
	out     []string
	round   *storyRound
	events  []scheduler.Event
	gen     uint64
	version uint64 // of settings
	inc     map[string]uint64
	jobs    map[uint64]*simcluster.Job
	starts  map[uint64]*wire.StartAttempt // by attempt
	kept    []byte                        // the checkpoint to restart from
	shown   bool                          // changes are printed, too
}

type storyRound struct{ generation, number uint64 }

const storyStart = scheduler.Time(time.Hour)

func newStory() *story {
	set := core.DefaultSettings()
	set.Identity = "story"
	s := &story{inc: map[string]uint64{}, jobs: map[uint64]*simcluster.Job{}, starts: map[uint64]*wire.StartAttempt{}}
	s.Core, s.Act = core.New(set), s.act
	s.Pass(storyStart)
	s.step(wire.NewInput(&wire.ManagerStart{Term: 1}))
	return s
}

// step steps the core a millisecond later.
func (s *story) step(inputs ...*wire.Input) {
	s.Pass(s.Now().Add(time.Millisecond))
	s.Step(inputs)
}

// settle answers rounds until no round is due.
func (s *story) settle() {
	for s.round != nil {
		s.decide(scheduler.Decisions{})
		s.step()
	}
}

func (s *story) decide(d scheduler.Decisions) {
	data, err := schedwire.EncodeDecisions(&d)
	if err != nil {
		panic(err)
	}
	r := s.round
	s.round = nil
	s.step(wire.NewInput(&wire.PolicyAnswer{Generation: r.generation, Round: r.number, Decisions: data}))
}

func (s *story) say(format string, args ...any) { s.out = append(s.out, fmt.Sprintf(format, args...)) }

func (s *story) act(a core.Action) {
	switch a := a.(type) {
	case core.ToLauncher:
		if m := a.Command.GetStart(); m != nil {
			s.starts[m.Attempt] = m
		}
		s.say("%s: %s", s.launcherName(a.Launcher), s.command(a.Command))
	case core.AskPolicy:
		s.round = &storyRound{a.Generation, a.Round.Number}
		s.events = append(s.events, a.Round.Events...)
	case core.StartPolicy:
		s.events = append(s.events, a.Snapshot().Events...)
	case core.PolicyGone:
		s.say("policy %d ends", a.Generation)
	case core.Reply:
		switch {
		case a.Failure != nil:
			s.say("refused: %s", a.Failure.Message)
		case a.Job != 0:
			s.job = uint64(a.Job)
			s.say("%s", a.Job)
		}
		if a.After != "" && s.shown {
			s.say("%s, was %s", a.After, a.Before)
		}
	case core.LogLine:
		if a.Level > core.Info {
			s.say("log: %s", a.Message)
		}
	}
}

// launcherName is the name of a launcher.
func (s *story) launcherName(id scheduler.LauncherID) string {
	for _, l := range s.Core.Launchers() {
		if l.Launcher == uint64(id) {
			return l.Name
		}
	}
	return fmt.Sprint("launcher ", id)
}

// command shows a command as a line.
func (s *story) command(m *wire.Command) string {
	switch d := m.GetDo().(type) {
	case *wire.Command_Start:
		return s.startLine(d.Start)
	case *wire.Command_Stop:
		grace := ""
		if d.Stop.GraceNs > 0 {
			grace = " within " + time.Duration(d.Stop.GraceNs).String()
		}
		return fmt.Sprintf("stop a%d%s: %s", d.Stop.Attempt, grace, d.Stop.Reason)
	case *wire.Command_Forget:
		return fmt.Sprintf("forget a%d", d.Forget)
	case *wire.Command_Peers:
		var peers []string
		for _, p := range d.Peers.Peers {
			peers = append(peers, fmt.Sprintf("a%d at %s", p.Attempt, p.Address))
		}
		return fmt.Sprintf("peers of a%d: %s", d.Peers.Attempt, strings.Join(peers, ", "))
	case *wire.Command_Sources:
		text := fmt.Sprintf("sources for a%d:%s", d.Sources.Attempt, sourceText(d.Sources.Sources, d.Sources.Complete))
		if s.confirm = d.Sources.Confirm; s.confirm != 0 {
			text += " to be confirmed"
		}
		return text
	case *wire.Command_Files:
		text := fmt.Sprintf("files for a%d from %d:", d.Files.Attempt, d.Files.From)
		for _, f := range d.Files.Files {
			text += " " + f.Name
		}
		return text
	case *wire.Command_Suspend:
		return fmt.Sprintf("suspend a%d", d.Suspend)
	case *wire.Command_Resume:
		return fmt.Sprintf("resume a%d", d.Resume)
	case *wire.Command_Commit:
		return fmt.Sprintf("commit of a%d granted: %t", d.Commit.Attempt, d.Commit.Granted)
	case *wire.Command_DropJob:
		return fmt.Sprintf("drop job-%d", d.DropJob)
	case *wire.Command_DropOutput:
		return fmt.Sprintf("drop output of a%d", d.DropOutput.Attempt)
	}
	return m.String()
}

func (s *story) startLine(m *wire.StartAttempt) string {
	status, _ := s.Core.JobStatus(scheduler.JobID(m.Job), false)
	verb := "start"
	if m.Ahead {
		verb = "hold"
	}
	text := fmt.Sprintf("%s a%d", verb, m.Attempt)
	for _, n := range m.Nodes {
		text += fmt.Sprintf(" %s/%d", status.Stages[n.Stage].Name, n.Index)
	}
	if f := m.Finish; f != nil {
		verb := "clean"
		switch {
		case f.Publish:
			verb = "publish"
		case f.Keep:
			verb = "keep"
		case f.Granted:
			verb = "withdraw"
		}
		text += fmt.Sprintf(" %s %v %d files", verb, f.Outputs, len(f.Files))
		if f.FilesTotal > uint64(len(f.Files)) {
			text += fmt.Sprintf(" of %d", f.FilesTotal)
		}
	}
	if p := m.Portion; p != nil {
		text += fmt.Sprintf(" partitions %d to %d of writers %d to %d", p.Low, p.High-1, p.First, int(p.End)-1)
	}
	for _, c := range m.InputCounts {
		text += fmt.Sprintf(" %d of connection %d", c.Writers, c.Connection)
	}
	if m.Speculative {
		text += " again"
	}
	if len(m.Sources) > 0 || !m.SourcesComplete {
		text += " from" + sourceText(m.Sources, m.SourcesComplete)
	}
	return text
}

func sourceText(list []*wire.Source, complete bool) (text string) {
	for _, s := range list {
		text += fmt.Sprintf(" %d.%d=a%d@%s", s.Connection, s.From, s.Attempt, s.Address)
	}
	if !complete {
		text += " and more to come"
	}
	return text
}

// play runs one command of a script and returns its output.
func (s *story) play(t *testing.T, d *datadriven.TestData) string {
	s.out = nil
	first := ""
	var rest []string
	named := map[string]string{}
	for i, a := range d.CmdArgs {
		switch {
		case len(a.Vals) > 0:
			named[a.Key] = strings.Join(a.Vals, ",")
		case i == 0:
			first = a.Key
		default:
			rest = append(rest, a.Key)
		}
	}
	s.do(t, d, first, rest, named)
	s.settle()
	if err := s.Core.Check(); err != nil {
		t.Fatalf("%s: after %s %s: %v", d.Pos, d.Cmd, first, err)
	}
	again, err := core.Restore(s.Core.Checkpoint())
	if err != nil || string(again.Checkpoint()) != string(s.Core.Checkpoint()) {
		t.Fatalf("%s: the checkpoint is not the state: %v", d.Pos, err)
	}
	if len(s.out) == 0 {
		return "nothing\n"
	}
	return strings.Join(s.out, "\n") + "\n"
}

func (s *story) do(t *testing.T, d *datadriven.TestData, first string, rest []string, named map[string]string) {
	report := func(r *wire.Report) {
		s.report(s.whereRuns(t, d, first), r)
	}
	id := number(first)
	switch d.Cmd {
	case "set":
		s.set(t, named)
	case "join":
		s.join(first, named)
	case "lose":
		l, _ := s.Core.Launcher(first)
		s.step(wire.NewInput(&wire.LauncherLost{Launcher: uint64(l.Launcher), Incarnation: l.Incarnation, Reason: "gone"}))
	case "submit":
		s.submit(t, d, first, named)
	case "policy":
		s.policy(named)
	case "launch", "preempt", "resume", "reserve", "speculate", "admit", "settings":
		s.decision(d.Cmd, first, rest, named)
	case "started":
		report(&wire.Report{What: &wire.Report_Started{Started: &wire.AttemptStarted{Attempt: id, Address: named["at"]}}})
	case "finish":
		report(s.finishReport(t, d, first, named))
	case "fail":
		kind := wire.ErrorKind(wire.ErrorKind_value["ERROR_KIND_"+strings.ToUpper(named["kind"])])
		refusal := wire.Refusal(wire.Refusal_value["REFUSAL_"+strings.ToUpper(named["refusal"])])
		report(&wire.Report{What: &wire.Report_Ended{Ended: &wire.AttemptEnded{Attempt: id, End: wire.End_END_FAILED, Failure: &wire.Failure{Kind: kind, Message: named["why"], Stage: named["stage"], Refusal: refusal}}}})
	case "refuse":
		report(&wire.Report{What: &wire.Report_Refused{Refused: &wire.CommandRefused{Attempt: id, Failure: &wire.Failure{Message: named["why"]}}}})
	case "stopped":
		report(&wire.Report{What: &wire.Report_Ended{Ended: &wire.AttemptEnded{Attempt: id, End: wire.End_END_STOPPED}}})
	case "progress":
		p, err := strconv.ParseFloat(rest[0], 64)
		if err != nil {
			t.Fatal(err)
		}
		report(&wire.Report{What: &wire.Report_Progress{Progress: &wire.AttemptProgress{Attempt: id, Progress: p}}})
	case "suspended":
		report(&wire.Report{What: &wire.Report_Suspended{Suspended: id}})
	case "resumed":
		report(&wire.Report{What: &wire.Report_Resumed{Resumed: id}})
	case "taken":
		report(&wire.Report{What: &wire.Report_SourcesTaken{SourcesTaken: &wire.SourcesTaken{Attempt: id, Confirm: s.confirm}}})
	case "taken-late": // a confirmation of another update
		report(&wire.Report{What: &wire.Report_SourcesTaken{SourcesTaken: &wire.SourcesTaken{Attempt: id, Confirm: s.confirm - 1}}})
	case "files":
		report(&wire.Report{What: &wire.Report_FilesWanted{FilesWanted: &wire.FilesWanted{Attempt: id, From: number(named["from"])}}})
	case "commit":
		report(&wire.Report{What: &wire.Report_Commit{Commit: id}})
	case "input-lost":
		conn, from, _ := strings.Cut(named["source"], ".")
		report(&wire.Report{What: &wire.Report_InputLost{InputLost: &wire.InputLost{
			Attempt: id, Connection: uint32(number(conn)), From: uint32(number(from)), Producer: number(named["of"]), Reason: "damaged", Damaged: true,
		}}})
	case "late-finish": // with the launcher's earlier incarnation
		l, _ := s.Core.Launcher(named["from"])
		l.Incarnation = number(named["life"])
		s.report(l, s.endReport(first, named))
	case "kill":
		s.step(wire.NewInput(&wire.KillJob{Client: 9, Job: id, Principal: principal(named), Elements: s.elements(t, named)}))
	case "retry":
		s.step(wire.NewInput(&wire.RetryElements{Client: 9, Job: id, Principal: principal(named), Elements: s.elements(t, named)}))
	case "move", "announce", "take", "access":
		s.access(t, d, id, named)
	case "drain":
		s.step(wire.NewInput(&wire.DrainLauncher{Client: 9, Name: first, Drain: named["end"] == ""}))
	case "load":
		s.load(first, named)
	case "wait":
		s.wait(t, first)
	case "status":
		s.status(scheduler.JobID(id))
	case "dropped":
		l, _ := s.Core.Launcher(first)
		s.report(l, &wire.Report{What: &wire.Report_JobDropped{JobDropped: number(rest[0])}})
	case "remember":
		s.kept = s.Core.Checkpoint()
	case "restart":
		s.restart(t, named["age"])
	case "reserved":
		s.reserved()
	case "offers":
		s.offers()
	case "events":
		s.tellEvents(named["sizes"] != "")
	default:
		t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
	}
}

// number reads the number in a1, job-2 or 3.
func number(s string) uint64 {
	n, _ := strconv.ParseUint(strings.TrimLeft(s, "abcdefghijklmnopqrstuvwxyz-"), 10, 64)
	return n
}
