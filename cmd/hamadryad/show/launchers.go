package show

import (
	"fmt"

	"github.com/dustin/go-humanize"

	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// Launchers lists launchers, and how busy their machines are.
func (c *Printer) Launchers(list []*wire.LauncherStatus) error {
	if c.json() {
		return printMessages(c, list)
	}
	t := newTable(c.Out, "LAUNCHER", "HOST", "RACK", "STATE", "SLOTS", "FREE", "MEMORY", "FREE", "SWAP", "FREE", "CPU", "USED", "RUNNING", "SUSPENDED", "VERSION")
	for _, l := range list {
		cpu, used := "-", "-"
		if m := l.Load; m != nil {
			cpu, used = partText(m.Cpu), partText(m.Memory)
		}
		t.row(l.Name, l.Host, orDash(l.Rack), l.State, slotsText(l.Slots), orDash(slotsText(l.Free)),
			size(l.Memory), size(l.MemoryFree), size(l.Swap), size(l.SwapFree), cpu, used, count(l.Running), count(l.Suspended), orDash(l.Version))
	}
	if err := t.end(); err != nil {
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

func size(bytes int64) string { return humanize.IBytes(uint64(max(bytes, 0))) }
