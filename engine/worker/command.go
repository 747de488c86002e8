package worker

import (
	"context"
	"os"
	"time"

	"github.com/hamadryad/hamadryad/engine/worker/internal/failure"
	"github.com/hamadryad/hamadryad/internal/process"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// Run implements job.Runtime.
func (n *node) Run(ctx context.Context, c *job.Command, p job.Pipes) error {
	if err := n.group.folders.makeScratch(); err != nil {
		return failure.OnDisk(err, n.group.folders.scratch)
	}
	if err := n.placeFiles(); err != nil {
		return err
	}
	for longest := n.grace.Load(); int64(process.GraceOf(c)) > longest; longest = n.grace.Load() {
		if n.grace.CompareAndSwap(longest, int64(process.GraceOf(c))) {
			break
		}
	}
	runs := n.active.calling("runs a command")
	runs.enter()
	defer runs.leave()
	return process.Run(ctx, process.Site{Info: n.Info(), Stopping: n.group.stop.asked, Log: os.Stderr}, c, p)
}

// placeOnce writes the files that are submitted with the job for the stage's commands into the
// node's folder.
func (n *node) placeOnce() error {
	var files []process.File
	for _, name := range n.spec.Files {
		f, ok := n.group.w.layout.File(name)
		if !ok {
			return failure.Invalidf("file %s for the commands of stage %q did not travel with the job: submit it with an engine of the same release", name, n.spec.Name)
		}
		files = append(files, process.File(f))
	}
	folder := n.Info().Scratch
	return failure.OnDisk(process.Place(folder, files), folder)
}

// commandGrace is how long commands of the group may take to end after SIGTERM.
func (g *group) commandGrace() time.Duration {
	var longest time.Duration
	for _, n := range g.nodes {
		longest = max(longest, time.Duration(n.grace.Load()))
	}
	return longest
}

// longestGrace is the longest grace period of the nodes' commands.
func longestGrace(nodes []*node) time.Duration {
	var longest time.Duration
	for _, n := range nodes {
		if c := n.spec.Command; c != nil {
			longest = max(longest, process.GraceOf(c))
		}
	}
	return longest
}
