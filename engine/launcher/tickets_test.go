package launcher_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/isolate"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// showTickets prints the content of its tickets whenever they change, until it is "over".
func showTickets(ctx context.Context, n *job.Node) error {
	path, ok := strings.CutPrefix(os.Getenv("KRB5CCNAME"), "FILE:")
	if keytab := os.Getenv("HAMADRYAD_HDFS_KEYTAB"); !ok || keytab != "" {
		fmt.Println("has", os.Getenv("KRB5CCNAME"), "and", keytab)
		return nil
	}
	every := time.NewTicker(time.Millisecond)
	defer every.Stop()
	for last := ""; last != "over"; {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if string(text) != last {
			last = string(text)
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			fmt.Println("tickets", path, info.Mode(), last)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-every.C:
		}
	}
	return nil
}

// A job's workers have its tickets instead of the launcher's: from their start, in a file of their
// own that is removed with them, and again after each renewal.
func TestWorkersHaveTheirJobsTickets(t *testing.T) {
	t.Setenv("KRB5CCNAME", "/run/tickets-of-the-launcher")
	t.Setenv("HAMADRYAD_HDFS_KEYTAB", "/etc/keytab-of-the-launcher")
	for _, how := range []string{isolate.Submitter, isolate.None} {
		t.Run(how, func(t *testing.T) {
			m := newManager(t)
			n := m.launch("a", func(c *configuration) {
				if how == isolate.Submitter {
					isolation(t)(c)
				}
			})
			without, b := m.job("tickets"), m.job("tickets")
			id := n.start(without.asUser(alice, 0, 0))
			n.finished(id)
			want := "has /run/tickets-of-the-launcher and /etc/keytab-of-the-launcher"
			if how == isolate.Submitter {
				want = "has  and "
			}
			if text := n.log(id); !strings.Contains(text, want) {
				t.Errorf("a job without tickets: %s", text)
			}
			give := func(cache string) {
				n.do(&wire.Command{Do: &wire.Command_Tickets{Tickets: &wire.JobTickets{Job: b.id, Cache: []byte(cache)}}})
			}
			give("first")
			one := n.start(b.asUser(alice, 0, 0))
			n.logged(one, "-rw------- first")
			give("second")
			n.logged(one, "-rw------- second")
			two := n.start(b.asUser(alice, 0, 0))
			n.logged(two, "-rw------- second")
			if strings.Contains(n.log(two), "first") {
				t.Error("a worker began with tickets that were renewed before")
			}
			var paths []string
			for _, id := range []uint64{one, two} {
				paths = append(paths, strings.Fields(n.m.follow(n.join.HttpAddress, id, "\ntickets "))[1])
			}
			give("over")
			n.finished(one)
			n.finished(two)
			if paths[0] == paths[1] {
				t.Error("two workers share a file")
			}
			n.do(&wire.Command{Do: &wire.Command_DropJob{DropJob: b.id}})
			for _, p := range paths {
				waitGone(t, p)
			}
			// The ticket of a worker in a mount namespace has no path here; only its folder can be
			// seen to go.
			waitFor(t, "end of all scratch but that of the job without tickets", func() bool {
				left, err := filepath.Glob(filepath.Join(dataOf(t, n), "scratch", "*"))
				return err == nil && len(left) <= 1
			})
		})
	}
}
