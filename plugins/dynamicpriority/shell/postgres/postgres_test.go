package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/internal/proctest"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/shell/postgres"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/shell/postgres/postgrestest"
)

// open opens a store; one that was closed a moment ago may still hold the lock in the server.
func open(t testing.TB, s *postgrestest.Server) (store *postgres.Store) {
	t.Helper()
	proctest.Until(t, time.Minute, "the store opens", func() (opened bool) {
		var err error
		if store, err = postgres.Open(t.Context(), s.Address()); err != nil && !strings.Contains(err.Error(), "another plug-in works") {
			t.Fatal(err)
		}
		return err == nil
	})
	return store
}

// TestPostgres has one server, and a database without queues for each part.
func TestPostgres(t *testing.T) {
	server := postgrestest.Start(t)
	for name, part := range map[string]func(*testing.T, *postgrestest.Server){
		"the database agrees with memory": theDatabaseAgreesWithMemory, "sums stay within bounds": sumsStayWithinBounds,
		"others and restarts": othersAndRestarts, "one at a time": oneAtATime, "what is no queue": whatIsNoQueue, "its name": itsName,
	} {
		t.Run(name, func(t *testing.T) {
			server.SQL("DROP TABLE IF EXISTS hamadryad_queue, hamadryad_ledger")
			part(t, server)
		})
	}
}

func shown(s *account.State) string { return fmt.Sprintf("%s", s.Marshal(1<<20)) }

func entry(t *rapid.T, number uint64) account.Entry {
	return account.Entry{
		Number: number, Kind: rapid.SampledFrom([]account.Kind{account.Charge, account.AddBudget, account.SetSpending, account.AddQueue, account.AddQueue, account.RemoveQueue}).Draw(t, "kind"),
		Queue:  rapid.SampledFrom([]string{"ann", "bob", "carol", "d'Arcy", "ünï"}).Draw(t, "queue"),
		Amount: money.Amount(rapid.OneOf(rapid.Int64Range(0, 1e9), rapid.Just(int64(account.SpendingMax))).Draw(t, "amount")), Interval: rapid.Int64Range(1, 20).Draw(t, "interval"),
	}
}

// Whatever is applied, in whatever pieces, some of it twice: the database equals the state in
// memory.
func theDatabaseAgreesWithMemory(t *testing.T, server *postgrestest.Server) {
	store := open(t, server)
	defer store.Close()
	conn, err := pgx.Connect(t.Context(), server.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	rapid.Check(t, func(r *rapid.T) {
		if _, err := conn.Exec(t.Context(), "TRUNCATE hamadryad_queue; UPDATE hamadryad_ledger SET applied = 0"); err != nil {
			r.Fatal(err)
		}
		var want account.State
		var all []account.Entry
		for range rapid.IntRange(1, 4).Draw(r, "pieces") {
			from := max(0, len(all)-rapid.IntRange(0, 3).Draw(r, "again"))
			for range rapid.IntRange(0, 6).Draw(r, "more") {
				all = append(all, entry(r, uint64(len(all)+1)))
			}
			for _, e := range all[from:] {
				want.Apply(e)
			}
			applied, err := store.Apply(t.Context(), all[from:])
			if err != nil || applied != want.Applied {
				r.Fatalf("%d are applied, want %d, error %v", applied, want.Applied, err)
			}
			got, err := store.Load(t.Context())
			if err != nil || shown(got) != shown(&want) {
				r.Fatalf("error %v, the database has\n%swant\n%s", err, shown(got), shown(&want))
			}
		}
	})
}

func sumsStayWithinBounds(t *testing.T, server *postgrestest.Server) {
	store := open(t, server)
	defer store.Close()
	most := int64(money.Max)
	server.SQL(fmt.Sprintf("INSERT INTO hamadryad_queue VALUES ('rich', %d, 0, 0), ('poor', %d, 0, 0)", most-1, -most+1))
	_, err := store.Apply(t.Context(), []account.Entry{
		{Number: 1, Kind: account.AddBudget, Queue: "rich", Amount: money.Max},
		{Number: 2, Kind: account.AddBudget, Queue: "poor", Amount: -money.Max},
		{Number: 3, Kind: account.Charge, Queue: "poor", Amount: money.Max, Interval: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := server.SQL("SELECT name, budget FROM hamadryad_queue ORDER BY name"), fmt.Sprintf("poor|%d\nrich|%d\n", -most, most); got != want {
		t.Errorf("budgets %q, want %q", got, want)
	}
}

// Concurrent additions by others are not lost, and after an outage the database has what was
// applied, once.
func othersAndRestarts(t *testing.T, server *postgrestest.Server) {
	store := open(t, server)
	defer store.Close()
	apply := func(from uint64, n int) error {
		var list []account.Entry
		for i := range n {
			list = append(list, account.Entry{Number: from + uint64(i), Kind: account.AddBudget, Queue: "ann", Amount: money.Credit})
		}
		_, err := store.Apply(t.Context(), list)
		return err
	}
	server.SQL("INSERT INTO hamadryad_queue (name) VALUES ('ann')")
	for i := range 10 {
		if err := apply(uint64(i+1), 1); err != nil {
			t.Fatal(err)
		}
		server.SQL("UPDATE hamadryad_queue SET budget = budget + 1 WHERE name = 'ann'")
	}
	server.Kill()
	if err := apply(11, 1); err == nil {
		t.Fatal("it is applied without a server")
	} else if strings.Contains(err.Error(), "pg-") {
		t.Errorf("the error tells the address: %v", err)
	}
	server.Again()
	for range 3 { // what is not known to be applied is applied again
		if err := apply(9, 3); err != nil {
			t.Fatal(err)
		}
	}
	if got := server.SQL("SELECT budget, applied FROM hamadryad_queue, hamadryad_ledger"); got != "11000010|11\n" {
		t.Errorf("it has %q", got)
	}
}

// Two never work on the same budgets.
func oneAtATime(t *testing.T, server *postgrestest.Server) {
	first := open(t, server)
	if _, err := postgres.Open(t.Context(), server.Address()); err == nil || !strings.Contains(err.Error(), "another plug-in works") {
		t.Errorf("a second one opens: %v", err)
	}
	first.Close()
	second := open(t, server)
	defer second.Close()
	if _, err := first.Load(t.Context()); err == nil {
		t.Error("the first one still reads")
	}
}

func whatIsNoQueue(t *testing.T, server *postgrestest.Server) {
	store := open(t, server)
	defer store.Close()
	for row, want := range map[string]string{
		"('a b', 0, 0, 0)":                  `queue "a b": a name has no white space`,
		"('ann', 0, -1, 0)":                 "must not be negative",
		"('ann', 0, 9000000000000000, 0)":   "at most",
		"('ann', 9000000000000000000, 0,0)": "more than there can be",
	} {
		server.SQL("TRUNCATE hamadryad_queue; INSERT INTO hamadryad_queue VALUES " + row)
		if s, err := store.Load(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is read as %v, error %v", row, s, err)
		}
	}
}

func TestAddresses(t *testing.T) {
	for _, address := range []string{"", "postgres://ann:secret@%%/x", "host=/nowhere user=secret", "host=localhost port=1 user=secret password=secret"} {
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := postgres.Open(ctx, address); err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "nowhere") {
			t.Errorf("%q: %v", address, err)
		}
		cancel()
	}
}

// A database keeps its name. One whose ledger is gone is another store, for which earlier decisions
// do not count.
func itsName(t *testing.T, server *postgrestest.Server) {
	name := func() string {
		store := open(t, server)
		defer store.Close()
		state, err := store.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return state.Store
	}
	first := name()
	if again := name(); first == "" || again != first {
		t.Errorf("it is %q, and was %q", again, first)
	}
	server.SQL("DROP TABLE hamadryad_ledger")
	if another := name(); another == "" || another == first {
		t.Errorf("without its ledger it is %q, and was %q", another, first)
	}
	server.SQL("ALTER TABLE hamadryad_ledger DROP COLUMN store") // as an earlier version made it
	if another := name(); another == "" {
		t.Error("that of an earlier version has no name")
	}
}
