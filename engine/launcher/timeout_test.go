package launcher_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// frozen is a job whose worker process stops as a whole. Its stage has a timeout.
func frozen(g *job.Graph, _ []string) error {
	g.Stage("s", 1, func(ctx context.Context, _ *job.Node) error {
		fmt.Println("stops")
		if err := unix.Kill(os.Getpid(), unix.SIGSTOP); err != nil {
			return err
		}
		<-ctx.Done() // its threads stop one after another
		return ctx.Err()
	}).Timeout(time.Second)
	return nil
}

// A stopped worker process can't end its attempt at the timeout of its stage. The launcher ends the
// process, and other attempts there go on.
func TestAWorkerThatHangsIsEndedAtItsTimeout(t *testing.T) {
	t.Parallel()
	m := newManager(t)
	n := m.launch("a", nil)
	other := n.start(m.job("polite").attempt(0, 0))
	n.logged(other, "waiting to be stopped")
	began := time.Now()
	e := n.ended(n.start(m.job("frozen").attempt(0, 0)))
	f := e.GetFailure()
	if e.End != wire.End_END_FAILED || f.GetKind() != wire.ErrorKind_ERROR_KIND_PROGRAM || f.GetStage() != "s" || !strings.Contains(f.GetMessage(), "longer than 1s, which is the timeout of its stage (Stage.Timeout)") {
		t.Errorf("it ends with %v", e)
	}
	if took := time.Since(began); took < time.Second {
		t.Errorf("it was ended after %v", took)
	}
	n.stop(other, time.Minute)
	if e := n.ended(other); e.GetFailure() != nil {
		t.Errorf("the other attempt ends with %v", e)
	}
}
