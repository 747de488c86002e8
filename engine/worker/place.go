package worker

import (
	"slices"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// place is where a group runs: its machine's names, and the stores on that machine. It does not
// change.
type place struct {
	host   string
	names  []string // further ones, and addresses
	rack   string
	stores map[string]string // folders of launchers' stores on this machine, by data address
}

func placeOf(r *wire.RunGroup) place {
	p := place{host: r.Host, names: r.Names, rack: r.Rack, stores: map[string]string{}}
	for _, s := range r.LocalStores {
		p.stores[s.Address] = s.Folder
	}
	return p
}

// locality is the locality of a host seen from this worker.
func (p *place) locality(host, rack string) scheduler.Locality {
	switch {
	case host != "" && (host == p.host || slices.Contains(p.names, host)):
		return scheduler.NodeLocal
	case rack != "" && rack == p.rack:
		return scheduler.RackLocal
	}
	return scheduler.Remote
}

// nearest is the best locality among the places of a split. A file whose store names no places is
// remote.
func (p *place) nearest(all []job.Place) scheduler.Locality {
	level := scheduler.Remote
	for _, at := range all {
		level = min(level, p.locality(at.Host, at.Rack))
	}
	return level
}
