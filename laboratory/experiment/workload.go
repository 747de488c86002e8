package experiment

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Purposes of random streams.
const (
	placing  uint64 = 1 // hosts of the tasks' input
	spreadBy uint64 = 5 // spread of the tasks' times
)

// drawn reports whether a seed changes the workload. In a log it draws the times of tasks that
// never finished.
func (w *Workload) drawn() bool { return len(w.Jobs) > 0 || w.Generate != nil || w.Log != "" }

// make makes the workload for a seed, on a cluster. folder is where paths count from.
func (w *Workload) make(folder string, seed uint64, on *cluster.Cluster) (made *workload.Workload, err error) {
	switch {
	case w.File != "":
		made, err = w.readFile(folder)
	case w.Generate != nil:
		spec := *w.Generate
		if seed > 0 {
			spec.Seed = seed
		}
		made, err = spec.Generate()
	default:
		made = &workload.Workload{}
		spread := workload.NewRand(max(seed, 1), spreadBy)
		for i := range w.Jobs {
			job, err := w.Jobs[i].make(max(seed, 1), spread, on)
			if err != nil {
				return nil, err
			}
			made.Jobs = append(made.Jobs, job)
		}
		err = made.Check()
	}
	if err != nil {
		return nil, err
	}
	if w.First > 0 {
		made.Jobs = made.Jobs[:min(len(made.Jobs), w.First)]
	}
	for i := range made.Jobs {
		if j := &made.Jobs[i]; w.Stages > 0 {
			j.Stages = j.Stages[:min(len(j.Stages), w.Stages)]
		}
	}
	return made, nil
}

// below is the path of a file that an experiment in a folder names.
func below(folder, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(folder, name)
}

// readFile reads the file, with its mapping.
func (w *Workload) readFile(folder string) (*workload.Workload, error) {
	o := workload.Options{File: below(folder, w.File)}
	if w.Mapping != "" {
		name := w.Mapping
		text, given := workload.GivenMapping(name)
		if !given {
			var err error
			name = below(folder, name)
			if text, err = os.ReadFile(name); err != nil {
				return nil, fmt.Errorf("the mapping is none of %s: %w", strings.Join(workload.GivenMappings(), ", "), err)
			}
		}
		mapping, err := workload.ParseMapping(name, text)
		if err != nil {
			return nil, err
		}
		o.Mapping = mapping
	}
	f, err := os.Open(o.File)
	if err != nil {
		return nil, fmt.Errorf("the workload: %w", err)
	}
	defer f.Close()
	return workload.Read(f, o)
}

// make makes a job. Lengths of tasks are drawn job by job and stage by stage.
func (j *Job) make(seed uint64, spread *workload.Rand, on *cluster.Cluster) (workload.Job, error) {
	made := workload.Job{ID: j.ID, Class: j.Class, User: j.User, Pool: j.Pool, Submit: j.Submit}
	for i := range j.Stages {
		s := &j.Stages[i]
		stage := workload.Stage{
			Name: s.Name, Kind: cmp.Or(s.Kind, scheduler.DefaultKind), Memory: int64(s.Memory), SlowStart: s.SlowStart, Tasks: make([]workload.Task, s.Tasks),
		}
		if i > 0 {
			stage.After = []int{i - 1}
		}
		places, err := s.places(seed, on)
		if err != nil {
			return made, fmt.Errorf("job %s, stage %s: %w", j.ID, s.Name, err)
		}
		for k := range stage.Tasks {
			t := &stage.Tasks[k]
			t.Work, t.Input = s.Work, int64(s.Input)
			if s.Spread > 0 {
				t.Work = time.Duration(float64(s.Work) * (1 + s.Spread*(2*spread.Unit()-1)))
			}
			if len(places) > 0 {
				t.Places = []workload.Place{{Host: places[k]}}
			}
		}
		made.Stages = append(made.Stages, stage)
	}
	return made, nil
}

// places are the hosts of the tasks' input, in random order.
func (s *Stage) places(seed uint64, on *cluster.Cluster) (hosts []string, err error) {
	if len(s.InputOn) == 0 {
		return nil, nil
	}
	machines := on.Machines()
	if len(s.InputOn) > len(machines) {
		return nil, fmt.Errorf("inputOn: input lies on %d launchers, and there are %d", len(s.InputOn), len(machines))
	}
	for i, n := range s.InputOn {
		for range n {
			hosts = append(hosts, machines[i].Host)
		}
	}
	lots := workload.NewRand(seed, placing)
	for i := len(hosts) - 1; i > 0; i-- {
		k := int(lots.Unit() * float64(i+1))
		hosts[i], hosts[k] = hosts[k], hosts[i]
	}
	return hosts, nil
}
