// Command lottery is a policy as an author outside the project would write it: with its own
// settings, a shell and child processes. Its settings can demand every mistake that such a program
// can make.
package main

import (
	"fmt"
	"log/slog"
	"math"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/serve"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// version is set by the build.
var version = "1"

func main() { serve.Main(func() scheduler.TaskScheduler { return &lottery{} }) }

type options struct {
	Order   string `yaml:"order"`
	Mistake string `yaml:"mistake"`
}

type lottery struct {
	view.View
	options options
	hoard   []byte
}

func read(c scheduler.Config) (options, error) {
	o := options{Order: "oldest"}
	if err := settings.Decode(c, &o); err != nil {
		return o, err
	}
	if o.Order != "oldest" && o.Order != "newest" {
		return o, scheduler.Problems{settings.At(c, "order", fmt.Sprintf("%q is neither oldest nor newest", o.Order))}
	}
	return o, nil
}

func (p *lottery) Check(c scheduler.Config) error {
	o, err := read(c)
	if o.Mistake == "panic in Check" {
		panic("check on purpose")
	}
	return err
}

func (p *lottery) Start(c scheduler.Config, s scheduler.Snapshot, _ scheduler.Environment) (scheduler.Description, error) {
	o, err := read(c)
	if err != nil {
		return scheduler.Description{}, err
	}
	if o.Mistake == "panic in Start" {
		panic("start on purpose")
	}
	p.options = o
	return scheduler.Description{Name: "lottery", Version: version}, p.View.Start(s)
}

func (p *lottery) AssignTasks(r scheduler.Round) (d scheduler.Decisions, err error) {
	if err := p.Apply(r); err != nil {
		return d, err
	}
	for _, e := range r.Events {
		if s, ok := e.(scheduler.SettingChanged); ok {
			o, err := read(s.Config)
			if err == nil {
				p.options = o
			}
			d.Settings = append(d.Settings, settings.Verdict(s, err))
		}
	}
	if len(d.Settings) > 0 {
		p.begin()
		return d, nil
	}
	switch p.options.Mistake {
	case "panic in AssignTasks":
		panic("assign on purpose")
	case "slow":
		time.Sleep(200 * time.Millisecond)
	case "memory":
		p.hoard = make([]byte, 1<<30)
		for i := 0; i < len(p.hoard); i += 4096 {
			p.hoard[i] = 1
		}
	}
	jobs := slices.Clone(p.Jobs())
	if p.options.Order == "newest" {
		slices.Reverse(jobs)
	}
	for _, j := range jobs {
		for b := range j.Launchable("", 0).All() {
			if where, ok := p.Fit(b); ok {
				d.Launch = append(d.Launch, p.Launch(b, where))
			}
		}
	}
	return d, nil
}

// begin does the one-time part of a mistake.
func (p *lottery) begin() {
	if p.options.Mistake != "children" {
		return
	}
	child := exec.Command("sleep", "54321")
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := child.Start(); err != nil {
		panic(err)
	}
	slog.Info("a child was born", "child", child.Process.Pid)
}

func (p *lottery) Explain(id scheduler.JobID) (scheduler.Explanation, error) {
	if p.Job(id) == nil {
		return scheduler.Explanation{}, fmt.Errorf("%w: %s", scheduler.ErrUnknownJob, id)
	}
	if p.options.Mistake == "panic in Explain" {
		panic("explain on purpose")
	}
	return scheduler.Explanation{Reason: scheduler.WaitTurn, Detail: "the draw is " + p.options.Order}, nil
}

func (p *lottery) Status() (scheduler.Status, error) {
	pool := scheduler.PoolStatus{Name: "drum", FairShare: 1}
	switch p.options.Mistake {
	case "panic in Status":
		panic("status on purpose")
	case "NaN":
		pool.FairShare = math.NaN()
	case "huge":
		pool.Name = strings.Repeat("x", 6<<20)
	case "control characters":
		pool.Name = "\x1b]0;gotcha\x07drum\r\n"
	}
	return scheduler.Status{Pools: []scheduler.PoolStatus{pool}, Facts: []scheduler.Property{{Name: "order", Value: p.options.Order}}}, nil
}

func (p *lottery) Terminate() {
	if p.options.Mistake == "panic in Terminate" {
		panic("terminate on purpose")
	}
}
