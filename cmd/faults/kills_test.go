package faults

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/cmd/internal/audit"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
)

// kills is how often the manager is killed with each store. "make kills" has 100.
var (
	kills   = flag.Int("kills", 2, "kills of a manager that charges, with each store")
	moments = flag.Uint64("moments", 1, "`SEED` of the moments")
)

// apartMax is the longest time between a manager's start and its end.
const apartMax = 2500 * time.Millisecond

// Managers that charge are killed at random moments, and now and then the plug-in with its shell,
// or the database. What the store has in the end is what was put into it less what was charged, to
// the micro-credit. No interval of a queue was charged twice, and no kill lost more than one.
// Results of the jobs are exact.
func TestKillsAndBudgets(t *testing.T) {
	for _, database := range []bool{false, true} {
		t.Run(map[bool]string{false: "file", true: "database"}[database], func(t *testing.T) {
			began := time.Now()
			k := &killing{
				t: t, r: rand.New(rand.NewPCG(*moments, 16)), jobs: map[string]*gatedJob{},
				bank: openBank(t, database, bidder{name: "ann", budget: 50_000 * money.Credit, spend: money.Credit}, bidder{name: "bob", budget: 50_000 * money.Credit, spend: 2*money.Credit + 1}, bidder{name: "carol"}),
			}
			k.cluster = startCluster(t, options{launchers: 1, slots: 4, eventLog: ", keep: 100000", policyLines: k.bank.policy("1s, kill-interval: 500ms, poll-interval: 100ms")})
			k.policyRuns()
			if database {
				k.databaseAway()
			}
			k.churn()
			eventually(t, "a whole interval is charged", func() bool { return k.bank.audit(k.cluster, time.Second).Exact > 0 })
			for range *kills {
				k.kill()
			}
			k.end()
			t.Logf("%d kills in %v: %v; of %d jobs %d were refused when they came, the plug-in was killed %d times, the database %d times",
				*kills, time.Since(began).Round(time.Second), k.books, k.submitted, k.refused, k.plugins, k.databases)
		})
	}
}

// killing is a run of the test.
type killing struct {
	t *testing.T
	*cluster
	bank   *bank
	r      *rand.Rand
	jobs   map[string]*gatedJob // of each user
	away   bool                 // the database is
	killed []time.Time

	submitted, refused, plugins, databases int
	granted                                money.Amount // by requests that were answered
	books                                  *audit.Books
}

// pause is until a random moment.
func (k *killing) pause(most time.Duration) { time.Sleep(time.Duration(k.r.Int64N(int64(most)))) }

// kill has a manager work for a while and kills it.
func (k *killing) kill() {
	k.churn()
	if k.r.IntN(4) == 0 {
		k.pause(apartMax)
		k.plugins++
		for _, pid := range k.policies() {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
	if k.bank.server != nil {
		switch {
		case k.away:
			k.bank.server.Again()
			k.away = false
		case k.r.IntN(6) == 0:
			k.bank.server.Kill()
			k.away = true
			k.databases++
		default:
			k.bank.gift("ann", 1)
		}
	}
	k.grant()
	k.pause(apartMax)
	k.killManager()
}

func (k *killing) killManager() {
	k.t.Helper()
	k.manager.kill(k.t)
	k.killed = append(k.killed, time.Now())
	k.startManager()
}

// grant has the administrator add a micro-credit to a budget, of a manager that may not be ready.
func (k *killing) grant() {
	if !strings.Contains(k.manager.log.String(), "the manager serves") {
		return
	}
	if code, _, err := k.asks("addBudget=0.000001&queue=bob", adminName, adminKey); err == nil && code == 200 {
		k.granted++
	}
}

// policies lists the running plug-ins.
func (k *killing) policies() []int {
	return processes(func(pid int) bool {
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		return err == nil && filepath.Dir(exe) == binaries && strings.HasPrefix(filepath.Base(exe), "hamadryad-policy-") && parent(pid) == k.manager.cmd.Process.Pid
	})
}

// churn has each user's job come or go on.
func (k *killing) churn() {
	for _, user := range []string{"ann", "bob", "carol"} {
		j := k.jobs[user]
		switch {
		case j == nil || j.process.ended():
			k.ended(j)
			k.submitted++
			k.jobs[user] = k.bank.submit(k.t, k.cluster, user, fmt.Sprintf("job%d", k.submitted), 1+k.r.IntN(5), 1+k.r.IntN(2), "map", "reduce")
		case k.r.IntN(2) == 0:
			j.open("map")
		default:
			j.open("map", "reduce")
		}
	}
}

// refusals are the valid reasons for a refused job: no manager or policy could take it.
var refusals = []string{"no manager answers", "it is not known whether", "policy"}

// ended checks the end of a job, if there is one.
func (k *killing) ended(j *gatedJob) {
	if j == nil {
		return
	}
	log := j.process.log.String()
	if j.process.cmd.ProcessState.ExitCode() == 0 {
		j.isRight()
		return
	}
	k.refused++
	if strings.Contains(log, "job-") || !slices.ContainsFunc(refusals, func(r string) bool { return strings.Contains(log, r) }) {
		k.t.Errorf("a job ended with %v:\n%s", j.process.cmd.ProcessState, log)
	}
	if _, err := os.Stat(j.out); err == nil {
		k.t.Errorf("%s is there", j.out)
	}
}

// end ends all jobs and compares the books with the store.
func (k *killing) end() {
	if k.away {
		k.bank.server.Again()
	}
	for _, j := range k.jobs {
		j.open("map", "reduce")
	}
	for _, user := range []string{"ann", "bob", "carol"} {
		eventually(k.t, "the last job of "+user+" ends", k.jobs[user].process.ended)
		k.ended(k.jobs[user])
	}
	k.policyRuns()
	k.books = k.bank.audited(k.cluster, time.Second, k.killed...)
	granted := k.books.Sum(account.AddBudget, "bob")
	if granted < k.granted || k.books.Charged == 0 || k.books.Exact == 0 || k.books.Sum(account.Charge, "carol") != 0 {
		k.t.Errorf("%s were granted, and %s are in the log", k.granted, granted)
	}
	k.bank.put["ann"]++ // the books must show the difference
	if k.books.Holds(k.bank.put, k.bank.has()) == "" {
		k.t.Error("the books hold although a micro-credit is missing")
	}
}

// databaseAway stops the database. A policy that has the budgets goes on scheduling. A manager that
// starts meanwhile keeps running attempts, launches nothing, and says what it waits for.
func (k *killing) databaseAway() {
	eventually(k.t, "the policy knows the budgets", func() bool {
		out, err := k.command("policy")
		return err == nil && strings.Contains(out, "queues with jobs: ") && !strings.Contains(out, "has not told budgets")
	})
	k.bank.server.Kill()
	j := k.bank.submit(k.t, k.cluster, "ann", "away", 6, 1, "map")
	j.reached("map", 4)
	eventually(k.t, "the policy says so", func() bool {
		out, err := k.command("policy")
		return err == nil && strings.Contains(out, "connect: ")
	})
	k.killManager()
	j.open("map")
	eventually(k.t, "the job says what it waits for", func() bool {
		out, err := k.command("status", "job-1")
		return err == nil && strings.Contains(out, "it waits for budgets: the database that")
	})
	if n := j.attempts("map"); n != 4 {
		k.t.Errorf("%d maps run without budgets, want the 4 of before", n)
	}
	k.bank.server.Again()
	j.succeeds()
}
