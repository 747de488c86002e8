package faults

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/cmd/internal/audit"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/shell/file"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/shell/postgres/postgrestest"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// bank is a store of budgets of the policy dynamic-priority, in a file or in a database, with the
// keys of its users. It has an administrator too.
type bank struct {
	t      testing.TB
	folder string
	keys   string
	server *postgrestest.Server // nil: the budgets are in a file
	put    map[string]money.Amount
}

// The administrator of a bank.
const (
	adminName = "root-of-all"
	adminKey  = "another_long_key"
)

func keyOf(user string) string { return "a_key_of_" + user }

// bidder is a user of a bank, with budget and bid.
type bidder struct {
	name          string
	budget, spend money.Amount
	none          bool // it has no queue
}

// openBank makes a store. Bidders are in its list of keys, and have queues.
func openBank(t testing.TB, database bool, bidders ...bidder) *bank {
	t.Helper()
	b := &bank{t: t, folder: t.TempDir(), keys: t.TempDir(), put: map[string]money.Amount{}}
	acl := adminName + " admin " + adminKey + "\n"
	budget, rows := "", ""
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(b.keys, adminName), adminKey)
	for _, u := range bidders {
		acl += fmt.Sprintf("%s user %s\n", u.name, keyOf(u.name))
		write(filepath.Join(b.keys, u.name), keyOf(u.name)+"\n")
		if u.none {
			continue
		}
		budget += fmt.Sprintf("%s %s %s\n", u.name, u.budget, u.spend)
		rows += fmt.Sprintf("INSERT INTO hamadryad_queue VALUES ('%s', %d, %d, 0);", u.name, u.budget, u.spend)
		b.put[u.name] = u.budget
	}
	write(filepath.Join(b.folder, "acl"), acl)
	if !database {
		write(filepath.Join(b.folder, "budget"), budget)
		return b
	}
	b.server = postgrestest.Start(t)
	b.server.SQL("CREATE TABLE hamadryad_queue (name text PRIMARY KEY, budget bigint NOT NULL DEFAULT 0, spending bigint NOT NULL DEFAULT 0, charged bigint NOT NULL DEFAULT 0);" + rows)
	write(filepath.Join(b.folder, "database"), b.server.Address()+"\n")
	return b
}

// policy is the configuration of the policy with the bank's store.
func (b *bank) policy(settings string) string {
	return fmt.Sprintf("  name: dynamic-priority\n  path: %s\n  store: %s\n  failuresMax: 1000\n  settings: {alloc-interval: %s}\n",
		filepath.Join(binaries, "hamadryad-policy-dynamic-priority"), b.folder, settings)
}

// submit submits a job as one of the users, signed.
func (b *bank) submit(t *testing.T, c *cluster, user, folder string, maps, reduces int, shut ...string) *gatedJob {
	t.Helper()
	t.Setenv(storage.UserVariable, user)
	t.Setenv("HAMADRYAD_KEY", filepath.Join(b.keys, user))
	return c.submitIn(folder, "file", 0, maps, reduces, shut...)
}

// has returns the state in the store.
func (b *bank) has() *account.State {
	b.t.Helper()
	if b.server == nil {
		f, err := file.Open(filepath.Join(b.folder, "budget"))
		if err != nil {
			b.t.Fatal(err)
		}
		s, err := f.Load(b.t.Context())
		if err != nil {
			b.t.Fatal(err)
		}
		return s
	}
	s := &account.State{}
	for line := range strings.Lines(b.server.SQL("SELECT name, budget, spending, charged, applied FROM hamadryad_queue, hamadryad_ledger")) {
		f := strings.Split(strings.TrimSpace(line), "|")
		var n [4]int64
		for i := range n {
			var err error
			if n[i], err = strconv.ParseInt(f[i+1], 10, 64); err != nil {
				b.t.Fatalf("the database has %q", line)
			}
		}
		s.Put(account.Queue{Name: f[0], Budget: money.Amount(n[0]), Spending: money.Amount(n[1]), Charged: n[2]})
		s.Applied = uint64(n[3])
	}
	return s
}

// gift adds to a budget from outside the cluster.
func (b *bank) gift(user string, amount money.Amount) {
	b.t.Helper()
	b.server.SQL(fmt.Sprintf("UPDATE hamadryad_queue SET budget = budget + %d WHERE name = '%s'", amount, user))
	b.put[user] += amount
}

// audit reads the log of a cluster as it is now.
func (b *bank) audit(c *cluster, length time.Duration, kills ...time.Time) *audit.Books {
	b.t.Helper()
	books, err := audit.Read(c.path("manager"), length, kills...)
	if err != nil {
		b.t.Fatal(err)
	}
	return books
}

// audited waits until nothing is paid any more and the store has all payments, and compares the
// store with the log.
func (b *bank) audited(c *cluster, length time.Duration, kills ...time.Time) (books *audit.Books) {
	b.t.Helper()
	wrong := ""
	b.t.Cleanup(func() {
		if b.t.Failed() {
			b.t.Logf("%v\n%s", books, wrong)
		}
	})
	eventually(c.t, "nobody pays", func() bool {
		code, text, err := c.asks("price", "", "")
		return err == nil && code == http.StatusOK && strings.Contains(text, "<price>0.0</price>")
	})
	eventually(c.t, "the store has what was put into it less what was charged", func() bool {
		has := b.has() // before the log: entries are logged before they are applied
		books = b.audit(c, length, kills...)
		wrong = books.Holds(b.put, has)
		return wrong == "" && has.Applied == books.Last()
	})
	if len(books.Wrong) > 0 {
		b.t.Errorf("%d things are wrong:\n%s", len(books.Wrong), strings.Join(books.Wrong, "\n"))
	}
	return books
}
