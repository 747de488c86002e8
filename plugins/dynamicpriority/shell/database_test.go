package shell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/shell/postgres/postgrestest"
)

// With a database, changes by others are sent to the policy, and so is an outage.
func TestADatabaseThatOthersChange(t *testing.T) {
	server := postgrestest.Start(t)
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, databaseName), []byte(server.Address()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := run(t, folder)
	if got := r.next(dynamicpriority.NoteStore); got != "applied 0 part 1 of 1\n" {
		t.Errorf("it tells %q", got)
	}
	server.SQL("INSERT INTO hamadryad_queue (name, budget, spending) VALUES ('ann', 100000000, 1000000)")
	if got := r.next(dynamicpriority.NoteStore); got != "applied 0 part 1 of 1\nann 100.0 1.0 0\n" {
		t.Errorf("it tells %q", got)
	}
	r.entries(pays(1, 10))
	r.next(dynamicpriority.NoteApplied)
	server.Kill()
	r.entries(pays(2, 10))
	if got := r.next(dynamicpriority.NoteFailed); strings.Contains(got, "pg-") {
		t.Errorf("it tells the address: %q", got)
	}
	server.Again()
	if got := r.next(dynamicpriority.NoteApplied); got != "2" {
		t.Errorf("%s is applied", got)
	}
	if got := server.SQL("SELECT budget, charged FROM hamadryad_queue"); got != "80000000|2\n" {
		t.Errorf("the database has %q", got)
	}
	r.stop()
}

// A change by others is sent however often the policy charges meanwhile. Unreadable rows are
// reported, and so is their repair.
func TestADatabaseIsLookedAtInTime(t *testing.T) {
	server := postgrestest.Start(t)
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, databaseName), []byte(server.Address()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server.SQL("CREATE TABLE hamadryad_queue (name text PRIMARY KEY, budget bigint NOT NULL DEFAULT 0, spending bigint NOT NULL DEFAULT 0, charged bigint NOT NULL DEFAULT 0); INSERT INTO hamadryad_queue VALUES ('b b', 0, 0, 0), ('ann', 0, 0, 0)")
	r := run(t, folder)
	for range 2 { // at the start, and later
		if got := r.next(dynamicpriority.NoteFailed); !strings.Contains(got, "b b") {
			t.Errorf("it tells %q", got)
		}
		server.SQL("DELETE FROM hamadryad_queue WHERE name = 'b b'")
		if got := r.next(dynamicpriority.NoteStore); !strings.Contains(got, "ann 0.0 0.0 0") {
			t.Errorf("it tells %q", got)
		}
		server.SQL("INSERT INTO hamadryad_queue VALUES ('b b', 0, 0, 0)")
	}
	r.next(dynamicpriority.NoteFailed)
	server.SQL("DELETE FROM hamadryad_queue WHERE name = 'b b'")
	r.next(dynamicpriority.NoteStore)

	server.SQL("INSERT INTO hamadryad_queue (name) VALUES ('bob')")
	until := time.Now().Add(waitMax)
	for number := uint64(1); ; number++ {
		r.entries(pays(number, 1))
		n := <-r.posts
		if n.Name == dynamicpriority.NoteStore && strings.Contains(string(n.Body), "bob") {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("after %d charges it has not told what another added", number)
		}
	}
	r.stop()
}
