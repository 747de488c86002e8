package faults

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs/certstest"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// clientsAtOnce submit at the same time.
const clientsAtOnce = 100

// A hundred clients that submit at once, all the same program or each another one, of one user or of
// several, are taken. The manager keeps one copy of what is the same, and its memory is bounded.
func TestAHundredClientsAtOnce(t *testing.T) {
	ca := certstest.New(t)
	c := startCluster(t, options{core: fmt.Sprintf("auth: {mode: tls, certificate: %q, roles: {administrator: {users: [\"*\"]}}}\n", ca.Files(auth.Manager, "m").Certificate)})
	program := func(name string, bytes int) string {
		content := make([]byte, bytes)
		_, _ = rand.Read(content) // it never fails
		return c.write(name, string(content))
	}
	same := program("same", 24<<20)
	c.submitAtOnce(ca, func(int) (user, program string) { return "ann", same })
	c.submitAtOnce(ca, func(i int) (user, p string) { return fmt.Sprint("user", i%5), same })
	c.submitAtOnce(ca, func(i int) (user, p string) { return fmt.Sprint("user", i%5), program(fmt.Sprint("own", i), 2<<20) })
	kept := c.files("manager/programs", func(path string) bool { info, err := os.Stat(path); return err == nil && info.Size() >= 2<<20 })
	if len(kept) != clientsAtOnce+1 {
		t.Errorf("the manager keeps %d programs, not %d", len(kept), clientsAtOnce+1)
	}
	most := c.peakMemory(c.manager.cmd.Process.Pid)
	t.Logf("after %d submissions, %d at once, the manager held %d MiB at most", 3*clientsAtOnce, clientsAtOnce, most>>20)
	if most > 600<<20 {
		t.Errorf("the manager held %d MiB", most>>20)
	}
}

// submitAtOnce has each client submit the program of its user, and fails the test if one is refused.
func (c *cluster) submitAtOnce(ca *certstest.CA, of func(i int) (user, program string)) {
	c.t.Helper()
	var all sync.WaitGroup
	var mu sync.Mutex
	jobs := map[uint64]bool{}
	begin := make(chan struct{})
	for i := range clientsAtOnce {
		user, program := of(i)
		cl, err := client.Dial(c.address, client.Options{User: user, Auth: ca.Files(auth.User, user), Wait: waitMax})
		if err != nil {
			c.t.Fatal(err)
		}
		all.Go(func() {
			defer cl.Close()
			<-begin
			spec := &wire.JobSpec{Name: fmt.Sprint("client", i), Graph: &wire.Graph{Stages: []*wire.Stage{{Name: "only", Nodes: 1}}}}
			job, err := cl.Submit(c.t.Context(), client.Submission{Spec: spec, Plan: []byte("plan"), Program: program})
			mu.Lock()
			defer mu.Unlock()
			if err != nil || jobs[job.Job] {
				c.t.Errorf("client %d of %s: job %d, %v", i, user, job.Job, err)
			}
			jobs[job.Job] = true
		})
	}
	close(begin)
	all.Wait()
}

// peakMemory is the most that a process has held, in bytes.
func (c *cluster) peakMemory(pid int) (bytes int64) {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", itoa(pid), "status"))
	if err != nil {
		c.t.Fatal(err)
	}
	_, peak, found := strings.Cut(string(text), "VmHWM:")
	if _, err := fmt.Sscan(peak, &bytes); err != nil || !found {
		c.t.Fatalf("the kernel does not say what process %d holds: %v", pid, err)
	}
	return bytes << 10
}
