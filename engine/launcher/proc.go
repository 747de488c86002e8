package launcher

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker"
	"github.com/hamadryad/hamadryad/engine/worker/link"
	"github.com/hamadryad/hamadryad/sdk/job/process/proctree"
)

const (
	// queueMax is how many messages may wait for a worker that does not read; one
	// that lets more gather hangs, and is killed.
	queueMax = 4096
	// lastWords is how much of its log goes into the failure of a worker that died,
	// in bytes.
	lastWords = 2 << 10
	// goneWait is how long the socket of a dead worker may stay open.
	goneWait = 500 * time.Millisecond
	// farewellWait is how long an idle worker may take to end itself.
	farewellWait = 2 * time.Second
)

// workerKey says which attempts can share a worker, one after the other.
type workerKey struct {
	job           uint64
	program, plan string
	fingerprint   string
}

func keyOf(s *wire.StartAttempt) workerKey {
	return workerKey{s.Job, s.Program, s.Plan, string(s.Fingerprint)}
}

// proc is one worker process.
type proc struct {
	agent *agent
	key   workerKey
	cmd   *exec.Cmd
	conn  *link.Conn
	pipe  *logPipe
	mark  proctree.Mark

	queue   chan *wire.ToWorker
	gone    chan struct{} // closed when the process has ended
	killing sync.Once

	freezing sync.Mutex // one freeze or thaw at a time

	// Guarded by agent.mu.
	current *attempt
	leaving bool // not to be used again
	closed  bool // the queue takes no more
	rested  time.Time
}

// hire starts a worker for an attempt. It runs in a goroutine of its own.
func (a *agent) hire(ctx context.Context, at *attempt) {
	p, err := a.startWorker(ctx, at.start)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil {
			a.log.Warn("can't start a worker", "job", at.start.JobName, "error", err)
			a.end(at, wire.End_END_FAILED, &wire.Failure{Kind: hireKind(err), Message: err.Error()})
		}
		return
	}
	wanted := at.ended == nil && a.attempts[at.start.Attempt] == at
	_, dropped := a.dropped[at.start.Job]
	switch {
	case ctx.Err() != nil, dropped && !wanted:
		p.leaving = true
		go p.kill()
	case !wanted:
		a.rest(p) // stopped meanwhile: the next group of the job may use it
	default:
		a.assign(p, at)
	}
}

// errNoBlob: the manager has no such program or plan.
var errNoBlob = errors.New("the manager does not have it")

func hireKind(err error) wire.ErrorKind {
	if errors.Is(err, errNoBlob) || errors.Is(err, syscall.ENOEXEC) {
		return wire.ErrorKind_ERROR_KIND_INVALID
	}
	return wire.ErrorKind_ERROR_KIND_RESOURCE
}

// startWorker fetches what a job's worker needs and starts one.
func (a *agent) startWorker(ctx context.Context, s *wire.StartAttempt) (*proc, error) {
	for try := 1; ; try++ {
		program, err := a.cache.get(ctx, s.Program)
		if err != nil {
			return nil, a.explain(fmt.Errorf("program of job %s: %w", s.JobName, err))
		}
		planPath, err := a.cache.get(ctx, s.Plan)
		if err != nil {
			return nil, a.explain(fmt.Errorf("plan of job %s: %w", s.JobName, err))
		}
		p, err := a.spawn(ctx, program, planPath, s)
		// Another launcher may have removed the program from a shared cache meanwhile.
		if errors.Is(err, os.ErrNotExist) && try < 3 {
			continue
		}
		if errors.Is(err, syscall.ENOEXEC) && try == 1 {
			a.cache.doubt(s.Program) // its content may have changed under us
			continue
		}
		if err != nil {
			return nil, a.explain(fmt.Errorf("start a worker of job %s: %w", s.JobName, err))
		}
		return p, nil
	}
}

// explain adds the remedy to an error about a full disk.
func (a *agent) explain(err error) error {
	if diskFull(err) {
		return fmt.Errorf("%w; free space below %s, or give the launcher other folders", err, a.cfg.Cache)
	}
	return err
}

// spawn starts the process and sends it its setup.
func (a *agent) spawn(ctx context.Context, program, planPath string, s *wire.StartAttempt) (*proc, error) {
	conn, theirs, err := link.Pair()
	if err != nil {
		return nil, err
	}
	pipe, theirOut, err := newLogPipe()
	if err != nil {
		conn.Close()
		theirs.Close()
		return nil, err
	}
	a.mu.Lock()
	a.procNumber++
	mark := proctree.Mark("HAMADRYAD_WORKER_MARK=" + strconv.FormatUint(a.incarnation, 10) + "." + strconv.FormatUint(a.procNumber, 10))
	a.mu.Unlock()
	env := a.environment(s, mark)
	cmd, err := start(ctx, func() *exec.Cmd {
		cmd := exec.Command(program)
		cmd.Env, cmd.Dir = env, a.folder.scratch()
		cmd.Stdout, cmd.Stderr = theirOut, theirOut
		cmd.ExtraFiles = []*os.File{theirs}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		return cmd
	})
	theirs.Close()
	theirOut.Close()
	if err != nil {
		conn.Close()
		pipe.close()
		return nil, err
	}
	p := &proc{agent: a, key: keyOf(s), cmd: cmd, conn: conn, pipe: pipe, mark: mark, queue: make(chan *wire.ToWorker, queueMax), gone: make(chan struct{})}
	a.metrics.starts.Inc()
	a.lease.covers(p)
	a.mu.Lock()
	a.procs[p] = true
	p.send(&wire.ToWorker{Do: &wire.ToWorker_Setup{Setup: &wire.WorkerSetup{
		Job: s.Job, JobName: s.JobName, PlanPath: planPath, Fingerprint: s.Fingerprint, Memory: s.Memory,
		LeaseNs: a.lease.length.Load(), LeaseEndsNs: a.lease.ends.Load(), Bind: a.cfg.Bind, User: s.User, Environment: a.cfg.workerSettings(),
		Cluster: plan.Cluster(a.manager),
	}}})
	a.mu.Unlock()
	go pipe.run()
	go p.write()
	go p.wait()
	go p.read()
	return p, nil
}

// passedOn are the variables of a launcher that its workers see: what programs need
// to find commands, their home, their language, Hadoop's configuration and Kerberos.
var passedOn = []string{
	"PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "GOTRACEBACK", "GOCOVERDIR",
	"HADOOP_CONF_DIR", "HADOOP_HOME", "KRB5_CONFIG", "KRB5CCNAME",
}

// passedPrefix is how the names of further ones begin: settings of the HDFS store.
const passedPrefix = "HAMADRYAD_HDFS_"

// environment of a worker: nothing of the launcher's own but what is passed on.
func (a *agent) environment(s *wire.StartAttempt, mark proctree.Mark) []string {
	env := []string{worker.Variable + "=1", dataVariable + "=" + a.folder.root, string(mark), "HAMADRYAD_USER=" + s.User}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); slices.Contains(passedOn, name) || strings.HasPrefix(name, passedPrefix) {
			env = append(env, v)
		}
	}
	if s.Memory > 0 {
		env = append(env, "GOMEMLIMIT="+strconv.FormatInt(s.Memory, 10))
	}
	return append(env, a.cfg.Env...)
}

// send queues a message. A worker that lets them gather is killed. The caller
// holds agent.mu.
func (p *proc) send(m *wire.ToWorker) {
	if p.closed {
		return
	}
	select {
	case p.queue <- m:
	default:
		p.leaving = true
		p.agent.log.Warn("a worker does not read what it is sent and is killed", "pid", p.cmd.Process.Pid, "waiting", queueMax)
		go p.kill()
	}
}

// write sends what is queued until the process is gone.
func (p *proc) write() {
	for {
		select {
		case m := <-p.queue:
			if p.conn.Send(m) != nil {
				return // the reader sees the same and ends the worker
			}
		case <-p.gone:
			return
		}
	}
}

// read takes in what the worker says, and its end.
func (p *proc) read() {
	var broken error
	for {
		m := &wire.FromWorker{}
		if broken = p.conn.Recv(m); broken != nil {
			break
		}
		p.hear(m)
	}
	if errors.Is(broken, link.ErrGarbled) {
		p.agent.log.Warn("a worker's message makes no sense: it is killed", "pid", p.cmd.Process.Pid, "error", broken)
	}
	// Whatever the cause: without its socket a worker is no use.
	late := time.NewTimer(goneWait)
	defer late.Stop()
	select {
	case <-p.gone:
	case <-late.C:
		p.kill()
		<-p.gone
	}
	p.conn.Close()
	p.buried(broken)
}

// hear takes in one message.
func (p *proc) hear(m *wire.FromWorker) {
	a := p.agent
	if e := m.GetReport().GetEnded(); e != nil && !m.Untouched {
		a.mu.Lock()
		at := p.current
		a.mu.Unlock()
		if at != nil {
			a.cleanUp(at, e.End == wire.End_END_FINISHED && len(e.Stored) > 0)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch what := m.What.(type) {
	case *wire.FromWorker_Report:
		a.onReport(p, what.Report)
	case *wire.FromWorker_Ready:
		if f := what.Ready.Failure; f != nil {
			p.leaving = true
			if f.Kind == wire.ErrorKind_ERROR_KIND_LOST {
				a.cache.doubt(p.key.plan) // what it was given is not what was verified
			}
			if at := p.current; at != nil {
				a.release(p, at)
				a.end(at, wire.End_END_FAILED, f)
			}
			go p.kill()
		}
	}
}

// wait notices the end of the process, however it comes.
func (p *proc) wait() {
	_ = p.cmd.Wait() // how it ended is in ProcessState
	p.agent.lease.gone(p)
	close(p.gone)
	// Its children die with it too. Should one hold the socket open, the reader must not wait for it.
	_ = proctree.KillMarked(p.mark)
	time.AfterFunc(goneWait, func() { p.conn.Close() })
}

// kill ends the process and all that it started.
func (p *proc) kill() {
	p.killing.Do(func() {
		select {
		case <-p.gone:
			return // its number may be another's by now; wait sees to its children
		default:
		}
		if err := proctree.Kill(p.cmd.Process.Pid, p.mark); err != nil {
			p.agent.log.Warn("can't kill a worker", "pid", p.cmd.Process.Pid, "error", err)
		}
	})
}

// setFrozen stops or continues the whole tree. The caller holds freezing.
func (p *proc) setFrozen(frozen bool) error {
	if frozen {
		return proctree.Stop(p.cmd.Process.Pid, p.mark)
	}
	return proctree.Continue(p.cmd.Process.Pid, p.mark)
}

// buried takes the dead worker off the books, and ends its attempt if it had one.
func (p *proc) buried(broken error) {
	a := p.agent
	a.mu.Lock()
	at := p.current
	p.closed = true
	a.mu.Unlock()
	if at != nil {
		p.pipe.switchTo(at.log) // takes in its last words
		a.cleanUp(at, false)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.procs, p)
	a.unrest(p)
	if at != nil && p.current == at {
		end, f := wire.End_END_FAILED, p.obituary(at, broken)
		if at.stopped {
			end = wire.End_END_STOPPED
		}
		a.release(p, at)
		a.end(at, end, f)
	}
	p.pipe.close()
}

// obituary says how a worker ended that should not have.
func (p *proc) obituary(at *attempt, broken error) *wire.Failure {
	if at.excess != nil {
		return at.excess
	}
	state := p.cmd.ProcessState
	f := &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_LOST, Message: "the worker ended: " + state.String()}
	status, _ := state.Sys().(syscall.WaitStatus)
	switch {
	case errors.Is(broken, link.ErrGarbled):
		f.Kind, f.Message = wire.ErrorKind_ERROR_KIND_INTERNAL, fmt.Sprintf("the worker's message made no sense (%v), so it was killed; does the program write to file descriptor %d?", broken, link.WorkerFD)
	case status.Signaled() && status.Signal() == syscall.SIGKILL && p.agent.kills.lately():
		f = starved(at, state)
	case status.Signaled() && status.Signal() == syscall.SIGKILL:
		f.Message += "; something killed it"
	case status.Exited() && (status.ExitStatus() == worker.ExitOrphan || status.ExitStatus() == worker.ExitProtocol):
	default:
		f.Kind = wire.ErrorKind_ERROR_KIND_PROGRAM
		f.Message += "; the program ended its process"
	}
	if last := p.pipe.last(); last != "" && f.Kind != wire.ErrorKind_ERROR_KIND_INTERNAL {
		f.Message += "; the end of its log:\n" + last
	}
	return f
}
