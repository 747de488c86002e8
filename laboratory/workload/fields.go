package workload

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// ShortestTime is how long the job takes on a cluster without bounds. It is the longest chain of
// stages, each with its longest task. Stages joined by TCP or shared memory run at the same time.
func (j *Job) ShortestTime() time.Duration {
	ends, longest := make([]time.Duration, len(j.Stages)), time.Duration(0)
	for i := range j.Stages {
		s := &j.Stages[i]
		starts := time.Duration(0)
		for _, a := range s.After {
			if s.channel() == ChannelFile {
				starts = max(starts, ends[a])
			}
		}
		for k := range s.Tasks {
			ends[i] = max(ends[i], min(starts+s.Tasks[k].Work, StageWorkMax))
		}
		longest = max(longest, ends[i])
	}
	return longest
}

// Fails reports whether attempts of some stage fail by a rate.
func (w *Workload) Fails() bool {
	for i := range w.Jobs {
		for k := range w.Jobs[i].Stages {
			if w.Jobs[i].Stages[k].FailureRate > 0 {
				return true
			}
		}
	}
	return false
}

func (s *Stage) channel() Channel {
	if s.Channel == "" {
		return ChannelFile
	}
	return s.Channel
}

// checkProperties checks the free properties of a job.
func checkProperties(what string, list []scheduler.Property) error {
	if len(list) > PropertiesMax {
		return fmt.Errorf("%s has %d properties: at most %d are allowed", what, len(list), PropertiesMax)
	}
	for i, p := range list {
		if err := checkName(what, "property's name", p.Name); err != nil {
			return err
		}
		switch {
		case p.Name == "":
			return fmt.Errorf("%s has a property without a name", what)
		case i > 0 && p.Name <= list[i-1].Name:
			return fmt.Errorf("%s has the property %.64q after %.64q: each stands there once, in order of name", what, p.Name, list[i-1].Name)
		case len(p.Value) > PropertyBytesMax || !utf8.ValidString(p.Value):
			return fmt.Errorf("%s: the value of its property %.64q has %d bytes: at most %d of UTF-8 are allowed", what, p.Name, len(p.Value), PropertyBytesMax)
		}
	}
	return nil
}

// checkResources checks the resources of a stage's tasks.
func checkResources(what string, list []scheduler.ResourceCount) error {
	for i, c := range list {
		if i > 0 && c.Kind <= list[i-1].Kind {
			return fmt.Errorf("%s: its resource %.64q comes after %.64q: each stands there once, in order of kind", what, c.Kind, list[i-1].Kind)
		}
	}
	if err := scheduler.CheckResources(list); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// checkChannel checks how a stage is connected to the earlier stages that it reads from.
func (j *Job) checkChannel(what string, s *Stage) error {
	channels, patterns := []Channel{"", ChannelFile, ChannelTCP, ChannelSHM}, []Pattern{"", AllToAll, OneToOne, Merge, Fork}
	switch {
	case !slices.Contains(channels, s.Channel):
		return fmt.Errorf("%s: there is no channel %.64q: it is file, tcp or shm", what, s.Channel)
	case !slices.Contains(patterns, s.Pattern):
		return fmt.Errorf("%s: there is no pattern %.64q: it is all-to-all, one-to-one, merge or fork", what, s.Pattern)
	case len(s.After) == 0 && (s.Channel != "" || s.Pattern != ""):
		return fmt.Errorf("%s: it has a channel or a pattern and comes after no stage", what)
	case s.SlowStart > 0 && s.channel() != ChannelFile:
		return fmt.Errorf("%s: it has a slow-start, which only file channels have, and reads through %s", what, s.Channel)
	}
	for _, a := range s.After {
		from, to := len(j.Stages[a].Tasks), len(s.Tasks)
		if s.Pattern == OneToOne && from != to || s.Pattern == Merge && from < to || s.Pattern == Fork && from > to {
			return fmt.Errorf("%s: %d tasks cannot read from %d of stage %.64q by the pattern %s", what, to, from, j.Stages[a].Name, s.Pattern)
		}
	}
	return nil
}
