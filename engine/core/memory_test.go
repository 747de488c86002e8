package core

import (
	"runtime"
	"testing"
)

// Bytes that a task of a large job may keep alive in the core.
const (
	waitingBytesMax  = 330
	finishedBytesMax = 520
)

// A core has up to millions of tasks. The job's last task never ends, so that the core keeps all.
func TestMemoryOfATask(t *testing.T) {
	const tasks = 50_000
	c := benchCluster(t, 8, 100)
	before := liveBytes()
	c.next = c.c.state.IDs.LastBundle() + 1
	c.submitPlain(t, tasks)
	c.last = c.c.state.IDs.LastBundle()
	for range 10 { // until the policy has been told of all
		c.launchSome(0)
	}
	c.round = nil
	if each := (liveBytes() - before) / tasks; each > waitingBytesMax {
		t.Errorf("%d bytes for each waiting task, at most %d are allowed: \"go test -run %s -memprofile\" names them", each, waitingBytesMax, t.Name())
	}
	for c.next < c.last {
		c.launchSome(int(min(500, c.last-c.next)))
		c.endAll()
	}
	c.launchSome(0)
	c.round = nil
	if each := (liveBytes() - before) / tasks; each > finishedBytesMax {
		t.Errorf("%d bytes for each finished task, at most %d are allowed: \"go test -run %s -memprofile\" names them", each, finishedBytesMax, t.Name())
	}
	if ended := c.c.Stats().Finished; ended != tasks-1 {
		t.Errorf("%d of %d tasks ended", ended, tasks)
	}
	runtime.KeepAlive(c)
}

// liveBytes is the size of all reachable objects.
func liveBytes() int64 {
	runtime.GC()
	runtime.GC() // finalizers
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
