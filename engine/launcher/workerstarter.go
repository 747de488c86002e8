package launcher

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/hamadryad/hamadryad/engine/isolate"
	"github.com/hamadryad/hamadryad/engine/isolate/cgroup"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/cache"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/datadir"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/lease"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/memory"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/outputstore"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/process"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/reportqueue"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/suspend"
	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
	program "github.com/hamadryad/hamadryad/engine/worker"
	"github.com/hamadryad/hamadryad/internal/kerberos"
	"github.com/hamadryad/hamadryad/internal/process/proctree"
)

// workerStarter starts workers. Safe for concurrent use.
type workerStarter struct {
	leftovers *leftovers
	cfg       Config
	dataDir   *datadir.Dir
	reports   *reportqueue.Queue
	lease     *lease.Lease
	cache     *cache.Cache
	way       suspend.Way
	outputs   *outputstore.Store
	guard     *isolate.Guard // nil: workers run as the launcher's user

	number atomic.Uint64 // of the last worker, for its mark
}

func newWorkerStarter(cfg Config, f *datadir.Dir, o *reportqueue.Queue, l *lease.Lease, c *cache.Cache, w suspend.Way, s *outputstore.Store, g *isolate.Guard, left *leftovers) *workerStarter {
	return &workerStarter{cfg: cfg, dataDir: f, reports: o, lease: l, cache: c, way: w, outputs: s, guard: g, leftovers: left}
}

// errNoBlob: the manager has no such program or plan.
var errNoBlob = errors.New("the manager does not have it")

// kindOf is the kind of error, for the manager, of a worker that can't be started.
func kindOf(err error) wire.ErrorKind {
	if errors.Is(err, isolate.ErrRefused) {
		return wire.ErrorKind_ERROR_KIND_DENIED
	}
	if errors.Is(err, errNoBlob) || errors.Is(err, syscall.ENOEXEC) {
		return wire.ErrorKind_ERROR_KIND_INVALID
	}
	return wire.ErrorKind_ERROR_KIND_RESOURCE
}

// startWorker fetches a job's program and plan, and starts a worker on a list of processors; "": on
// all. The worker knows the devices that it holds. It waits for disk and network.
func (h *workerStarter) startWorker(ctx context.Context, s *wire.StartAttempt, tickets []byte, on string, holds held) (*worker, error) {
	for try := 1; ; try++ {
		binary, err := h.cache.Get(ctx, s.Program)
		if err != nil {
			return nil, h.explain(fmt.Errorf("program of job %s: %w", s.JobName, err))
		}
		planPath, err := h.plan(ctx, s)
		if err != nil {
			return nil, err
		}
		w, err := h.launchProcess(ctx, binary, planPath, s, tickets, on, holds)
		// Another launcher may have removed the program from a shared cache meanwhile.
		if errors.Is(err, os.ErrNotExist) && try < 3 {
			continue
		}
		if errors.Is(err, syscall.ENOEXEC) && try == 1 {
			h.cache.Doubt(s.Program) // its content may have changed under us
			continue
		}
		if err != nil {
			return nil, h.explain(fmt.Errorf("start a worker of job %s: %w", s.JobName, err))
		}
		return w, nil
	}
}

// plan fetches a job's plan, and returns its path.
func (h *workerStarter) plan(ctx context.Context, s *wire.StartAttempt) (string, error) {
	path, err := h.cache.Get(ctx, s.Plan)
	if err != nil {
		return "", h.explain(fmt.Errorf("plan of job %s: %w", s.JobName, err))
	}
	return path, nil
}

// explain adds the remedy to an error about a full disk.
func (h *workerStarter) explain(err error) error {
	if cache.DiskFull(err) {
		return fmt.Errorf("%w; free space below %s, or give the launcher other folders", err, h.cfg.Cache)
	}
	return err
}

// launchProcess starts the process and sends it its setup.
func (h *workerStarter) launchProcess(ctx context.Context, binary, planPath string, s *wire.StartAttempt, tickets []byte, on string, holds held) (*worker, error) {
	secret, of, err := h.credentials()
	if err != nil {
		return nil, err
	}
	number := h.number.Add(1)
	mark := "HAMADRYAD_WORKER_MARK=" + strconv.FormatUint(h.reports.Incarnation(), 10) + "." + strconv.FormatUint(number, 10)
	c := process.Command{Program: binary, Env: h.environment(s, tickets != nil), Dir: h.dataDir.Scratch(), Mark: proctree.Mark(mark), Way: h.way, Limits: h.limits(s), Processors: on}
	at, err := h.makeWorkDir(&c, number, planPath, s)
	if err != nil {
		return nil, err
	}
	if tickets != nil {
		c.Env = append(c.Env, kerberos.CacheVariable+"=FILE:"+at.keepTickets(number))
	}
	c.Env = append(c.Env, holds.environment()...)
	p, err := process.Start(ctx, c, h.lease, h.cfg.Log)
	if err != nil {
		at.close(h.leftovers)
		return nil, err
	}
	w := newWorker(p, s, at, of, tickets, on, holds)
	setup := h.setup(s, at.planPath())
	setup.Credentials, setup.TicketsPath, setup.Tickets = secret, at.ticketsPath(), tickets
	w.setUp(setup)
	return w, nil
}

// setup is what a worker needs for an attempt's job, without secrets.
func (h *workerStarter) setup(s *wire.StartAttempt, planPath string) *wire.WorkerSetup {
	manager, _ := h.reports.Manager()
	length, ends := h.lease.Terms()
	return &wire.WorkerSetup{
		Job: s.Job, JobName: s.JobName, PlanPath: planPath, Fingerprint: s.Fingerprint, Memory: s.Memory,
		LeaseNs: length, LeaseEndsNs: ends, Bind: h.cfg.Bind, User: s.User, Environment: h.cfg.workerSettings(),
		Cluster: plan.Cluster(manager),
	}
}

// limits are what an attempt's processes may use together. An attempt that finishes a job runs no
// user program, and its memory depends on the job's number of files, so that is not limited.
func (h *workerStarter) limits(s *wire.StartAttempt) cgroup.Limits {
	l := cgroup.Limits{Slots: int(s.Slots), Processes: h.cfg.Isolation.MostProcesses(), Swap: h.cfg.Swap > 0}
	if s.Memory > 0 && s.Finish == nil {
		l.Memory = memory.Most(s.Memory)
	}
	return l
}

// makeWorkDir makes a worker's folder.
func (h *workerStarter) makeWorkDir(c *process.Command, number uint64, plan string, s *wire.StartAttempt) (*workDir, error) {
	if h.guard == nil {
		return sharedWorkDir(h.dataDir.Scratch(), plan), nil
	}
	return h.isolate(c, number, plan, s)
}

// isolate has a worker's process run as the submitter, and makes its folder.
func (h *workerStarter) isolate(c *process.Command, number uint64, plan string, s *wire.StartAttempt) (*workDir, error) {
	who, err := h.guard.Find(s.User)
	if err != nil {
		return nil, fmt.Errorf("launcher %s: %w", h.cfg.Name, err)
	}
	store, err := h.outputs.Prepare(s.Job, who.UID, who.GID)
	if err != nil {
		return nil, err
	}
	release := func() {
		if store != "" {
			h.outputs.Release(s.Job)
		}
	}
	c.Step, c.Order = h.guard.Program(), h.guard.Order(who)
	c.Env = append(c.Env, "HOME="+who.Home, "USER="+who.Name, "LOGNAME="+who.Name)
	at, err := ownWorkDir(h.dataDir.Scratch(), number, c.Order, c.Program, plan, store)
	if err != nil {
		release()
		return nil, err
	}
	at.onClose(release)
	return at, nil
}

// credentials are a worker's certificate and key, which are sent by its socket alone; nil without
// authentication. They are valid while the launcher's keys have the returned generation.
func (h *workerStarter) credentials() (*wire.Credentials, uint64, error) {
	if h.cfg.Keys == nil {
		return nil, 0, nil
	}
	b, err := h.cfg.Keys.ForWorker()
	if err != nil {
		return nil, 0, fmt.Errorf("credentials for a worker: %w", err)
	}
	return &wire.Credentials{Ca: b.CA, Certificate: b.Certificate, Key: b.Key}, b.Of, nil
}

// passedOn are the launcher's environment variables that its workers inherit: for finding commands,
// home and language, and for Hadoop's configuration and Kerberos.
var passedOn = []string{
	"PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "GOTRACEBACK", "GOCOVERDIR",
	"HADOOP_CONF_DIR", "HADOOP_HOME", "KRB5_CONFIG", "KRB5CCNAME",
}

// ownOnly are the inherited variables that belong to the launcher's user: other users' workers
// don't get them.
var ownOnly = append([]string{"HOME", "USER"}, ownTickets...)

// ownTickets are the inherited variables with which the launcher's own user authenticates to HDFS.
var ownTickets = []string{kerberos.CacheVariable, "HAMADRYAD_HDFS_KEYTAB", "HAMADRYAD_HDFS_PRINCIPAL", "HAMADRYAD_HDFS_USER"}

// passedPrefix is the prefix of further inherited variables: settings of the HDFS store.
const passedPrefix = "HAMADRYAD_HDFS_"

// environment is a worker's environment: only inherited variables of the launcher's. A worker whose
// job has its own tickets must not access HDFS as the launcher.
func (h *workerStarter) environment(s *wire.StartAttempt, tickets bool) []string {
	env := []string{program.Variable + "=1", h.dataDir.Mark(), "HAMADRYAD_USER=" + s.User}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		passed := slices.Contains(passedOn, name) || strings.HasPrefix(name, passedPrefix)
		own := h.guard != nil && slices.Contains(ownOnly, name) || tickets && slices.Contains(ownTickets, name)
		if passed && !own {
			env = append(env, v)
		}
	}
	if s.Memory > 0 {
		env = append(env, "GOMEMLIMIT="+strconv.FormatInt(s.Memory, 10))
	}
	return append(env, h.cfg.Env...)
}
