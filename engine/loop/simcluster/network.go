package simcluster

import (
	"math"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Links are the speeds of a cluster's links, in bytes a second each way; 0 is no bound. Each host
// has a link to its rack, and each rack has one to the others. With both 0 transfers take no time.
//
// Flows share links by max-min fairness (Bertsekas and Gallager, "Data Networks", section 6.5.2):
// no flow can be faster without making one slower that is as slow or slower. It is how many TCP
// connections share links, in the mean. Latency and lost packets are not modelled.
type Links struct{ Host, Rack int64 }

// transfer is bytes from a launcher's host to another's.
type transfer struct {
	from, to *Launcher
	bytes    float64
}

// network is the flows between the hosts of a cluster. A change of flows costs time in proportion
// to the flows and to the square of the links in use.
type network struct {
	cluster *Cluster
	speeds  Links
	links   map[linkKey]*link
	flows   []*flow          // in the order in which they began
	open    map[*Attempt]int // flows of each reader
	at      scheduler.Time   // up to when flows have progressed
	turn    int              // counts changes: an end that was planned before one does not happen
	planned bool             // rates are computed anew at the end of this moment
}

// linkKey names a link in one direction.
type linkKey struct {
	rack, up bool
	name     string
}

type link struct {
	speed float64 // bytes a nanosecond
	left  float64 // speed that no flow has, while rates are computed
	count int     // flows without a rate, while rates are computed
}

type flow struct {
	reader *Attempt
	done   func() // all of the reader's flows have ended
	links  []*link
	left   float64 // bytes
	rate   float64 // bytes a nanosecond; 0: not computed yet
}

// fetch begins transfers for a reader, and calls done when all have ended; false: no link is in
// their way.
func (n *network) fetch(reader *Attempt, list []transfer, done func()) bool {
	n.progress()
	began := false
	for _, t := range list {
		links := n.path(t.from, t.to)
		if len(links) == 0 || t.bytes <= 0 {
			continue
		}
		n.flows = append(n.flows, &flow{reader: reader, done: done, links: links, left: t.bytes})
		n.open[reader]++
		began = true
	}
	if began {
		n.change()
	}
	return began
}

// cancel ends the transfers of a reader that is gone.
func (n *network) cancel(reader *Attempt) {
	if n == nil || n.open[reader] == 0 {
		return
	}
	n.progress()
	kept := n.flows[:0]
	for _, f := range n.flows {
		if f.reader != reader {
			kept = append(kept, f)
		}
	}
	clear(n.flows[len(kept):])
	n.flows = kept
	delete(n.open, reader)
	n.change()
}

// path is the links between two launchers; none where they share a host.
func (n *network) path(from, to *Launcher) (links []*link) {
	if from.Host == to.Host {
		return nil
	}
	add := func(k linkKey, speed int64) {
		if speed == 0 {
			return
		}
		l := n.links[k]
		if l == nil {
			l = &link{speed: float64(speed) / float64(time.Second)}
			n.links[k] = l
		}
		links = append(links, l)
	}
	add(linkKey{up: true, name: from.Host}, n.speeds.Host)
	add(linkKey{name: to.Host}, n.speeds.Host)
	if from.Rack != to.Rack {
		add(linkKey{rack: true, up: true, name: from.Rack}, n.speeds.Rack)
		add(linkKey{rack: true, name: to.Rack}, n.speeds.Rack)
	}
	return links
}

// progress has flows go on until now.
func (n *network) progress() {
	now := n.cluster.Loop.Now()
	past := float64(now.Sub(n.at))
	for _, f := range n.flows {
		f.left -= float64(f.rate * past)
	}
	n.at = now
}

// change has the rates computed anew, once after all changes of a moment.
func (n *network) change() {
	n.turn++
	if !n.planned {
		n.planned = true
		n.cluster.Loop.After(0, n.share)
	}
}

// share computes the rates, and plans the next end of a flow.
func (n *network) share() {
	n.planned = false
	n.progress()
	shareRates(n.flows)
	next := math.Inf(1)
	for _, f := range n.flows {
		next = min(next, math.Ceil(f.left/f.rate))
	}
	if len(n.flows) == 0 {
		return
	}
	turn := n.turn
	n.cluster.Loop.After(time.Duration(min(max(next, 0), float64(math.MaxInt64/4))), func() {
		if n.turn == turn {
			n.end()
		}
	})
}

// end ends the flows that have nothing left.
func (n *network) end() {
	n.progress()
	var ended []func()
	kept := n.flows[:0]
	for _, f := range n.flows {
		if f.left > f.rate { // more than a nanosecond of it
			kept = append(kept, f)
			continue
		}
		if n.open[f.reader]--; n.open[f.reader] == 0 {
			delete(n.open, f.reader)
			ended = append(ended, f.done)
		}
	}
	clear(n.flows[len(kept):])
	n.flows = kept
	n.change()
	for _, done := range ended {
		done()
	}
}

// shareRates gives flows their max-min fair rates by progressive filling: the link that can give
// its flows least gives each the same, and these flows are settled.
func shareRates(flows []*flow) {
	var links []*link
	for _, f := range flows {
		f.rate = 0
		for _, l := range f.links {
			if l.count == 0 {
				l.left = l.speed
				links = append(links, l)
			}
			l.count++
		}
	}
	for open := len(flows); open > 0; {
		var tight *link
		for _, l := range links {
			if l.count > 0 && (tight == nil || l.left/float64(l.count) < tight.left/float64(tight.count)) {
				tight = l
			}
		}
		rate := max(tight.left, tight.speed*1e-9) / float64(tight.count) // rounding never stops a flow
		for _, f := range flows {
			if f.rate > 0 || !f.uses(tight) {
				continue
			}
			f.rate = rate
			open--
			for _, l := range f.links {
				l.left -= rate
				l.count--
			}
		}
	}
}

func (f *flow) uses(l *link) bool {
	for _, k := range f.links {
		if k == l {
			return true
		}
	}
	return false
}

// connect returns the cluster's network; nil: transfers take no time.
func (c *Cluster) connect() *network {
	if c.network == nil && c.Links != (Links{}) {
		c.network = &network{cluster: c, speeds: c.Links, links: map[linkKey]*link{}, open: map[*Attempt]int{}, at: c.Loop.Now()}
	}
	return c.network
}

// fetches are the transfers of an attempt's shuffled input: as many bytes from each output that it
// read.
func (a *Attempt) fetches() (list []transfer) {
	if a.job.Shuffled == nil || len(a.readFrom) == 0 {
		return nil
	}
	outputs := 0
	for _, n := range a.readFrom {
		outputs += n.outputs
	}
	bytes := float64(a.job.Shuffled(a))
	for _, n := range a.readFrom {
		list = append(list, transfer{n.launcher, a.On, bytes * float64(n.outputs) / float64(outputs)})
	}
	return list
}

// readFrom is how many outputs an attempt reads from a launcher.
type readFrom struct {
	launcher *Launcher
	outputs  int
}

// noteSource notes that an attempt reads one output from a launcher.
func (a *Attempt) noteSource(l *Launcher) {
	if a.On.cluster.connect() == nil {
		return
	}
	if a.sources == nil {
		a.sources = map[*Launcher]int{}
	}
	i, ok := a.sources[l]
	if !ok {
		i = len(a.readFrom)
		a.sources[l] = i
		a.readFrom = append(a.readFrom, readFrom{launcher: l})
	}
	a.readFrom[i].outputs++
}
