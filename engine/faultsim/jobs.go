package faultsim

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// fakeJob is a submission with its expected end.
type fakeJob struct {
	name       string
	spec       *wire.JobSpec
	plan       *graph.Expanded
	runs       *simcluster.Job // the launchers' data of it
	id         uint64
	poison     bool         // a group of it always fails
	wrong      bool         // its specification is, and it must be refused
	tooLarge   bool         // for the cluster
	invalid    bool         // its program rejects it
	occupied   bool         // its output is there and not its own
	killed     bool         // a kill was requested
	after      []dependency // earlier jobs
	submitted  bool         // once, whether or not that was logged
	refused    bool
	announced  bool
	accepted   bool
	over       bool
	lost       bool // with the end of a log
	work       time.Duration
	array      *array          // nil: it is none
	adapted    *adapted        // nil: it has no adapted connection
	aggregated *aggregated     // nil: it has no aggregating stage
	short      bool            // it failed, as elements of it were given up
	flaky      map[uint32]int  // by first node: failures still to come
	ended      map[uint64]bool // attempts that reported success
	rewritten  bool            // parts were written since its temporary folders were removed last
	state      wire.JobState
}
