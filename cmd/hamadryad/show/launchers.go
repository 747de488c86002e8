package show

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Launchers lists launchers, and how busy their machines are.
func (c *Printer) Launchers(list []*wire.LauncherStatus) error {
	if c.structured() {
		return c.value(eachOf(list, restapi.LauncherOf))
	}
	if len(list) == 0 {
		return c.none("no launcher has joined this manager")
	}
	t := c.table("LAUNCHER", "HOST", "RACK", "STATE", "SLOTS", "FREE", "MEMORY", "FREE", "SWAP", "FREE", "CPU", "USED", "RUNNING", "SUSPENDED", "VERSION", wide+"RESOURCES", wide+"FREE", wide+"JOINED", wide+"HEARD", wide+"METRICS")
	for _, l := range list {
		cpu, used := "-", "-"
		if m := l.Load; m != nil {
			cpu, used = partText(m.Cpu), partText(m.Memory)
		}
		t.row(l.Name, l.Host, orDash(l.Rack), l.State, slotsText(l.Slots), orDash(slotsText(l.Free)),
			size(l.Memory), size(l.MemoryFree), size(l.Swap), size(l.SwapFree), cpu, used, count(l.Running), count(l.Suspended), orDash(l.Version),
			orDash(wire.ResourcesOf(l.Resources).String()), orDash(wire.ResourcesOf(l.ResourcesFree).String()), instant(l.Joined), instant(l.Heard), orDash(l.HttpAddress))
	}
	if err := t.end(); err != nil || c.Format == Name {
		return err
	}
	for _, l := range list {
		if why := wire.WhyExcluded(l); why != "" {
			if _, err := fmt.Fprintf(c.Out, "%s: %s; \"hamadryad undrain %[1]s\" lets work come again\n", progress.OneLine(l.Name), why); err != nil {
				return err
			}
		}
	}
	return nil
}

// LauncherDetails prints all details of launchers, one after the other.
func (c *Printer) LauncherDetails(list []*wire.LauncherStatus) error {
	if c.structured() {
		return c.value(eachOf(list, restapi.LauncherDetailsOf))
	}
	for i, l := range list {
		if c.Format == Name {
			fmt.Fprintln(c.Out, progress.OneLine(l.Name))
			continue
		}
		if i > 0 {
			fmt.Fprintln(c.Out)
		}
		c.launcher(l)
		if err := c.attemptsThere(l); err != nil {
			return err
		}
	}
	return nil
}

// attemptsThere lists a launcher's attempts: the live ones, then those that ended last.
func (c *Printer) attemptsThere(l *wire.LauncherStatus) error {
	if len(l.Attempts)+len(l.Ended) > 0 {
		fmt.Fprintln(c.Out)
		t := c.table("ATTEMPT", "JOB", "NAME", "STAGE", "STATE", "SINCE")
		for _, a := range slices.Concat(l.Attempts, l.Ended) {
			stage := orDash(a.Stage)
			if a.Index >= 0 {
				stage = fmt.Sprintf("%s/%d", stage, a.Index)
			}
			t.row(scheduler.AttemptID(a.Attempt).String(), scheduler.JobID(a.Job).String(), orDash(a.JobName), stage, a.State, ago(a.Since))
		}
		if err := t.end(); err != nil {
			return err
		}
	}
	if n := l.AttemptsLeftOut; n > 0 {
		fmt.Fprintf(c.Out, "%s more live there: not shown, or of jobs that you may not look at\n", count(n)+" attempts")
	}
	return nil
}

// launcher prints the details of one launcher, one a line.
func (c *Printer) launcher(l *wire.LauncherStatus) {
	d := restapi.LauncherDetailsOf(l)
	fmt.Fprintf(c.Out, "%s: %s, on %s\n", progress.OneLine(l.Name), l.State, progress.OneLine(l.Host))
	for _, p := range d.Problems {
		fmt.Fprintf(c.Out, "problem: %s\n", progress.OneLine(p))
	}
	for _, s := range d.Slots {
		fmt.Fprintf(c.Out, "slots of kind %s: %d of %d free\n", progress.OneLine(s.Kind), s.Free, s.Total)
	}
	if d.Resources != nil {
		for _, r := range *d.Resources {
			fmt.Fprintf(c.Out, "resource %s: %d of %d free\n", progress.OneLine(r.Kind), r.Free, r.Total)
		}
	}
	fmt.Fprintf(c.Out, "memory: %s of %s free\nswap: %s of %s free\nattempts: %d running, %d suspended\n",
		size(l.MemoryFree), size(l.Memory), size(l.SwapFree), size(l.Swap), l.Running, l.Suspended)
	for _, x := range []struct{ name, value string }{
		{"rack", l.Rack}, {"version", l.Version}, {"metrics and logs", l.HttpAddress}, {"stored files", l.DataAddress}, {"joined", strings.TrimPrefix(instant(l.Joined), "-")}, {"heard of", strings.TrimPrefix(instant(l.Heard), "-")},
	} {
		if x.value != "" {
			fmt.Fprintf(c.Out, "%s: %s\n", x.name, progress.OneLine(x.value))
		}
	}
	if m := l.Load; m != nil {
		fmt.Fprintf(c.Out, "processors busy: %s, the machine's memory in use: %s\n", partText(m.Cpu), partText(m.Memory))
	}
}

func size(bytes int64) string { return humanize.IBytes(uint64(max(bytes, 0))) }
