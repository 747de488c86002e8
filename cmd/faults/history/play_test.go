package history

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hamadryad/hamadryad/cmd/internal/processes"
	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
)

// Bounds of a history, for a machine that is slow and does other things too.
const (
	// startMax bounds the start of a cluster.
	startMax = 2 * time.Minute
	// jobsMaxAfter bounds the end of all jobs after the last fault was undone.
	jobsMaxAfter = 2 * time.Minute
	// restMax bounds what a cluster does after its last job.
	restMax = time.Minute
)

// lookEvery is the time between two looks at what can't be waited for otherwise.
const lookEvery = 100 * time.Millisecond

// play plays a history in a folder of its own. The cluster that it returns has
// ended, and says in complaints what was wrong.
func play(h history, dir string) *cluster {
	c, err := newCluster(h, dir)
	defer c.stop()
	if err == nil {
		err = c.prepare()
	}
	if err != nil {
		c.complain("the test itself: %v", err)
		return c
	}
	if !c.within(startMax, "the cluster starts", c.settled) {
		return c
	}
	c.mu.Lock()
	c.began = time.Now()
	c.mu.Unlock()
	c.act()
	c.note("all faults are undone")
	if c.within(jobsMaxAfter, "all jobs end", c.clientsEnded) {
		c.note("all clients have ended")
		c.within(restMax, "nothing is left", c.nothingLeft)
		c.judge()
		c.refusals()
		c.charges()
	}
	c.shutDown()
	return c
}

// prepare writes the jobs' input.
func (c *cluster) prepare() error {
	for i, plan := range c.h.jobs {
		j, err := newJob(c.h.seed, i, plan, c.path(fmt.Sprintf("job%d", i)))
		if err != nil {
			return err
		}
		c.jobs = append(c.jobs, j)
	}
	return nil
}

// act submits the jobs and does the faults, each at its time, and returns when all
// jobs were submitted and all faults undone.
func (c *cluster) act() {
	var all sync.WaitGroup
	at := func(when time.Duration, do func() error) {
		all.Go(func() {
			time.Sleep(when - time.Since(c.began))
			if err := do(); err != nil {
				c.complain("the test itself: %v", err)
			}
		})
	}
	for i, j := range c.jobs {
		at(j.plan.at, func() error {
			p, err := c.start(c.clients, append(append(j.environ(), c.signs(i)...), "PATH="+binaries+":"+os.Getenv("PATH")), j.command()...)
			if err != nil {
				return err
			}
			c.mu.Lock()
			j.client = p
			c.mu.Unlock()
			go func() {
				<-p.Done
				c.note("client of job %d, which is %s: %v", i, numbered(j.id()), p.Cmd.ProcessState)
			}()
			return nil
		})
	}
	for _, f := range c.h.faults {
		at(f.at, func() error {
			if f.amidst && !c.within(jobsMaxAfter, "a shuffle is under way", func() string { return c.shuffles(launcherOf(c, f)) }) {
				return nil
			}
			c.note("%s", f)
			err := kindOf(f).do(c, f)
			c.note("%s is over", f)
			return err
		})
	}
	all.Wait()
}

// shuffles says what a launcher lacks to be in the middle of a shuffle: stored
// channel files of a job that goes on, or a worker that streams.
func (c *cluster) shuffles(m *machine) string {
	workers := workersOf(m.running.Load().Pid())
	stored, _ := filepath.Glob(c.path(m.name, "store", "job-*", "a*", "c*.n*"))
	switch {
	case len(workers) == 0:
		return m.name + " has no worker"
	case len(stored) == 0 && c.h.jobs[0].kind != "graph-tcp":
		return m.name + " has stored nothing"
	}
	return ""
}

// within waits until holds returns "", and complains with its last result if it does not in time.
func (c *cluster) within(limit time.Duration, what string, holds func() string) bool {
	late := time.Now().Add(limit)
	for {
		wrong := holds()
		if wrong == "" {
			return true
		}
		if time.Now().After(late) {
			c.complain("after %v still not: %s: %s", limit, what, wrong)
			return false
		}
		time.Sleep(lookEvery)
	}
}

func (c *cluster) clientsEnded() string {
	var open []string
	for i, j := range c.jobs {
		if j.client != nil && !j.client.Ended() {
			status, _ := c.command("status", numbered(j.id()))
			open = append(open, fmt.Sprintf("job %d (%s) %s\n%s", i, j.plan.kind, tail(j.client.Log.String(), 500), status))
		}
	}
	return strings.Join(open, "\n")
}

func numbered(id uint64) string { return fmt.Sprintf("job-%d", id) }

// launcherState is a launcher as the command line shows it.
type launcherState struct {
	Name       string
	State      string
	Slots      []slots
	Memory     int64
	MemoryFree int64
	Running    int
	Suspended  int
}

type slots struct {
	Kind        string
	Total, Free int
}

// settled says what keeps the manager from having taken its configuration over for good: a policy
// runs with it. Before, a manager that starts anew with a wrong file has nothing to go back to.
func (c *cluster) settled() string {
	if out, err := c.command("policy"); err != nil || !strings.Contains(out, ": running, generation") {
		return fmt.Sprintf("no policy runs: %v %s", err, out)
	}
	return c.atRest()
}

// atRest says what keeps the manager from the view that all launchers are up and
// nothing runs.
func (c *cluster) atRest() string {
	out, err := c.command("launchers", "-o", "json")
	if err != nil {
		return err.Error()
	}
	var all []launcherState
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		return err.Error()
	}
	if len(all) != c.h.launchers {
		return fmt.Sprintf("%d launchers of %d: %s", len(all), c.h.launchers, out)
	}
	for _, l := range all {
		held := slices.ContainsFunc(l.Slots, func(s slots) bool { return s.Free != s.Total })
		if l.State != "up" || held || l.Memory != l.MemoryFree || l.Running+l.Suspended != 0 {
			return fmt.Sprintf("launchers are not at rest: %s", out)
		}
	}
	return ""
}

// workersOf lists the processes that a launcher started, without its reaper, which starts with the
// first suspension and ends with the launcher.
func workersOf(launcher int) []int {
	return slices.DeleteFunc(processes.Below(launcher), func(pid int) bool {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		args := strings.Split(string(line), "\x00")
		return err == nil && len(args) > 1 && args[1] == "reap"
	})
}

// nothingLeft returns what is left of the jobs, and where.
func (c *cluster) nothingLeft() string {
	if wrong := c.atRest(); wrong != "" {
		return wrong
	}
	if out, err := c.command("jobs", "-o", "json"); err != nil || strings.TrimSpace(out) != "[]" {
		return fmt.Sprintf("the manager has jobs: %s %v", out, err)
	}
	for _, pattern := range []string{"job*/out.*", "job*/channels/*", "launcher*/store/job-*", "launcher*/scratch/*"} {
		found, _ := filepath.Glob(c.path(pattern))
		if found = slices.DeleteFunc(found, c.ofLostJob); len(found) > 0 {
			return fmt.Sprintf("files are left: %v", found)
		}
	}
	for _, m := range c.launchers {
		if left := workersOf(m.running.Load().Pid()); len(left) > 0 {
			return fmt.Sprintf("%s has workers:\n%s", m.name, processes.Describe(left))
		}
	}
	return ""
}

// ofLostJob reports whether a file belongs to a job whose records went with a cut event log, and
// whose client was killed. Nothing knows of that job any more, and the manager logs the loss.
func (c *cluster) ofLostJob(path string) bool {
	_, name, _ := strings.Cut(filepath.Base(path), "job-")
	number, _, _ := strings.Cut(name, ".")
	id, err := strconv.ParseUint(number, 10, 64)
	killed := slices.ContainsFunc(c.jobs, func(j *submitted) bool { return j.id() == id && j.clientKilled })
	if err != nil || !killed || !c.had("event log cut") {
		return false
	}
	out, err := c.command("status", numbered(id))
	return err != nil && strings.Contains(out, "the event log lost the records of it")
}

// judge checks each job's end against its history.
func (c *cluster) judge() {
	out, err := c.command("jobs", "--all", "-o", "json")
	if err != nil {
		c.complain("%v", err)
		return
	}
	var list []struct{ ID, State string }
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		c.complain("%v", err)
		return
	}
	states := map[string]string{}
	for _, j := range list {
		states[j.ID] = j.State
	}
	for i, j := range c.jobs {
		if wrong := c.verdict(j, states[numbered(j.id())]); wrong != "" {
			c.complain("job %d (%s, %s): %s\nits client said:\n%s", i, numbered(j.id()), j.plan.kind, wrong, tail(j.client.Log.String(), 3000))
		}
	}
}

// verdict returns what is wrong with the end of a job; state is the job's state in the manager.
func (c *cluster) verdict(j *submitted, state string) string {
	code := j.client.Cmd.ProcessState.ExitCode()
	there, wrong := j.output()
	printed := j.client.Log.String()
	forgotten := c.had("event log cut") // the manager may not know the job, or not its end
	writes := len(j.want) > 0
	switch {
	case wrong != "":
		return wrong
	case code == 0 && j.kind.fails:
		return "it succeeded, and can't"
	case code == 0 && writes && !there:
		return "its client ended with 0, and there is no output"
	case code == 0 && !j.says():
		return fmt.Sprintf("its client does not say %q", j.kind.says)
	case code == 0 && state != "succeeded" && !forgotten:
		return "its client ended with 0, and the manager says " + state
	case code != 0 && (there || state == "succeeded") && !j.clientKilled && !forgotten:
		return fmt.Sprintf("its client ended with %d, the manager says %s, and its output is there: %v", code, state, there)
	case code == 0 || j.killed || forgotten:
		return ""
	case j.kind.fails && j.says(), j.id() == 0 && c.refusable(printed), c.unproven(printed):
		return ""
	case c.had("stored program damaged") && strings.Contains(printed, "fetch "):
		return "" // launchers could not fetch blobs that the manager lost
	}
	return fmt.Sprintf("it failed (exit code %d, the manager says %s), and nothing in its history is a cause", code, state)
}

// refusable reports whether a client's output is a valid refusal: no manager could take the job, or
// the manager's disk was full.
func (c *cluster) refusable(printed string) bool {
	away := strings.Contains(printed, "no manager answers") || strings.Contains(printed, "it is not known whether")
	return away || c.had("manager's disk full") && (strings.Contains(printed, "full") || strings.Contains(printed, "no space left"))
}

// had reports whether the history has a fault of a kind.
func (c *cluster) had(kind string) bool {
	return slices.ContainsFunc(c.h.faults, func(f fault) bool { return f.kind == kind })
}

// refusalsMax bounds how often the manager of a history refuses launches for lack of capacity. A
// policy whose view lags behind may request slots that are gone, but not repeatedly.
const refusalsMax = 50

// refusals looks at what the manager refused its policy.
func (c *cluster) refusals() {
	var text []byte
	err := c.net.Inside("clients", func() error {
		keys, err := certs.Open(certs.Files{Certificate: c.certificate(auth.User, operator)}, certs.Options{})
		if err != nil {
			return err
		}
		conn, err := tls.Dial("tcp", c.net.Address("manager")+":7071", keys.Client(auth.Manager, ""))
		if err != nil {
			return err
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "GET /metrics HTTP/1.0\r\n\r\n"); err != nil {
			return err
		}
		text, err = io.ReadAll(conn)
		return err
	})
	if err != nil {
		c.complain("the manager's metrics: %v", err)
		return
	}
	for line := range strings.Lines(string(text)) {
		if n, ok := strings.CutPrefix(line, "hamadryad_decisions_refused_total{reason="); ok {
			c.note("decisions refused: %s", strings.TrimSpace(n))
			reason, count, _ := strings.Cut(strings.TrimSpace(n), "} ")
			if times, err := strconv.ParseFloat(count, 64); err != nil || strings.Contains(reason, "capacity") && times > refusalsMax {
				c.complain("launches refused for lack of capacity: %s", count)
			}
		}
	}
}

// shutDown ends the cluster in good order; no process may outlive it.
func (c *cluster) shutDown() {
	for _, m := range append([]*machine{c.manager}, c.launchers...) {
		if m.running.Load().Ended() {
			continue
		}
		if err := c.end(m, syscall.SIGTERM); err != nil {
			c.complain("%v", err)
		}
	}
	for _, j := range c.jobs {
		if j.client != nil && !j.client.Ended() {
			_ = j.client.Stop(syscall.SIGKILL, endMax) // there is a complaint already
		}
	}
	c.within(restMax, "no process is left", func() string { return processes.Describe(processes.Mentioning(c.dir)) })
}
