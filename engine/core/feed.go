package core

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// A reader may have a million writers. So it starts with as many sources as one
// command holds and misses the others, and is fed what is there of them: with each
// CommandBytes it says that it has them before more follow. What is on its way is
// all that is remembered of it, for a launcher that joins again.

const (
	// sourceBytes is about what a source takes in a message beside its texts.
	sourceBytes = 48
	// fileBytes is the same for a file to publish.
	fileBytes = 32
	// stepFeeds is how many times CommandBytes one step feeds to readers; the others
	// come in the next, so that many readers don't make a long step.
	stepFeeds = 4
)

// takes says whether an attempt can be given sources: it has started, so that a start
// command that is sent again does not tell less, and nothing is on its way that it
// has to confirm.
func (a *attempt) takes() bool {
	return (a.phase == attemptRunning || a.phase == attemptSuspended) && a.awaits == 0 && a.stop == nil
}

// tellSource puts a source that an attempt misses into its update of this step.
func (c *Core) tellSource(a *attempt, k sourceKey) {
	s := c.source(a.run.bundle.job, k)
	if s == nil {
		return
	}
	a.missingOf(k.conn)[k.from/64] &^= 1 << (k.from % 64)
	a.misses--
	u := c.updates[a.id]
	if u == nil {
		u = &wire.SourcesUpdate{Attempt: uint64(a.id)}
		c.updates[a.id] = u
	}
	u.Sources = append(u.Sources, s)
	a.given = append(a.given, k)
	n := sizeOf(s)
	a.givenBytes += n
	c.fed += n
	if a.givenBytes >= c.set.CommandBytes {
		a.awaits, u.Confirm = c.now, uint64(c.now)
	}
}

func sizeOf(s *wire.Source) int { return sourceBytes + len(s.Address) + len(s.Host) + len(s.Rack) }

// feed gives an attempt what is there of what it misses, as much as it takes at once.
func (c *Core) feed(a *attempt) {
	if a.misses == 0 || !a.takes() {
		return
	}
	if c.fed >= stepFeeds*c.set.CommandBytes {
		c.after(1, timerFeed, uint64(a.id))
		return
	}
	for _, m := range a.missing {
		n := &a.run.bundle.job.conns[m.conn]
		for w, word := range m.bits {
			for ; word != 0; word &= word - 1 {
				from := w*64 + bits.TrailingZeros64(word)
				if !n.There(from) {
					continue
				}
				c.tellSource(a, sourceKey{int32(m.conn), int32(from)})
				if a.awaits != 0 {
					return
				}
			}
		}
	}
}

// waits says whether something that an attempt misses is not there.
func (a *attempt) waits() bool {
	for _, m := range a.missing {
		n := &a.run.bundle.job.conns[m.conn]
		if n.Complete() {
			continue
		}
		for w, word := range m.bits {
			for ; word != 0; word &= word - 1 {
				if !n.There(w*64 + bits.TrailingZeros64(word)) {
					return true
				}
			}
		}
	}
	return false
}

// sourcesTaken takes a worker's word that it has what an update told.
func (c *Core) sourcesTaken(a *attempt, update uint64) {
	if a.awaits == 0 || uint64(a.awaits) != update {
		return
	}
	a.given, a.givenBytes, a.awaits = nil, 0, 0
	c.feed(a)
}

// giveAgain begins anew with what was on its way to a launcher whose stream broke.
func (c *Core) giveAgain(a *attempt) {
	for _, k := range a.given {
		c.miss(a, k)
	}
	a.given, a.givenBytes, a.awaits = nil, 0, 0
	c.feed(a)
}

// flushSources sends each reader what a step gave it, in one message.
func (c *Core) flushSources() {
	for _, id := range slices.Sorted(maps.Keys(c.updates)) {
		if a := c.attempts.Get(id); a != nil && a.launcher.Up {
			u := c.updates[id]
			u.Complete = a.misses == 0
			c.command(a.launcher, &wire.Command{Do: &wire.Command_Sources{Sources: u}})
		}
	}
	clear(c.updates)
}

// listing makes the list of the sources that an attempt starts with.
type listing struct {
	c    *Core
	a    *attempt
	list []*wire.Source
	left int // bytes that the command still holds

	conn   int32
	missed []uint64           // what the attempt misses of conn; nil: nothing
	listed map[int32][]uint64 // by connection what is in the list; nil for a group of one node, which meets no writer twice
	looked int                // at so many writers
}

// sourcesOf lists the sources that an attempt starts with. It misses those that are not
// there, and what is more than one command holds: of a million writers that is most, so
// they are noted sixty-four at a time.
func (c *Core) sourcesOf(a *attempt) []*wire.Source {
	j := a.run.bundle.job
	nodes := a.run.bundle.filed(a.group)
	l := listing{c: c, a: a, left: c.set.CommandBytes}
	if len(nodes) > 1 {
		l.listed = map[int32][]uint64{}
	}
	for _, x := range nodes {
		n := j.plan.Node(x)
		for _, conn := range j.into[n.Stage] {
			l.conn, l.missed = conn, a.missingOf(conn)
			r, some := j.plan.Writers(int(conn), n.Index)
			for from := r.Low; from < r.High; {
				end := min((from/64+1)*64, r.High)
				l.word(from/64, ^uint64(0)<<(from%64)&(^uint64(0)>>(64-uint(end-1)%64-1)))
				from = end
			}
			for _, from := range some {
				l.word(int(from)/64, 1<<(from%64))
			}
		}
	}
	c.work -= l.looked/looksAtOnce + len(l.list)
	return l.list
}

// looksAtOnce is how many looks whether an output is there count for one in
// Settings.StepWork.
const looksAtOnce = 256

// word lists, or notes as missed, those of 64 writers that are wanted.
func (l *listing) word(w int, wanted uint64) {
	if l.missed != nil {
		wanted &^= l.missed[w]
	}
	if listed := l.listed[l.conn]; listed != nil {
		wanted &^= listed[w]
	}
	j := l.a.run.bundle.job
	n := &j.conns[l.conn]
	for ; wanted != 0 && l.left > 0; wanted &= wanted - 1 {
		from := w*64 + bits.TrailingZeros64(wanted)
		l.looked++
		if !n.There(from) {
			l.miss(w, wanted&-wanted)
			continue
		}
		s := l.c.source(j, sourceKey{l.conn, int32(from)})
		l.list = append(l.list, s)
		l.left -= sizeOf(s)
		if l.listed != nil {
			if l.listed[l.conn] == nil {
				l.listed[l.conn] = make([]uint64, (n.Writers()+63)/64)
			}
			l.listed[l.conn][w] |= wanted & -wanted
		}
	}
	if wanted != 0 {
		l.miss(w, wanted)
	}
}

// miss notes writers as missed that were not.
func (l *listing) miss(w int, which uint64) {
	if l.missed == nil {
		l.missed = l.c.missingFor(l.a, l.conn)
		l.c.watchWaiting(l.a.run.bundle.job)
	}
	l.missed[w] |= which
	l.a.misses += bits.OnesCount64(which)
}

// filesPlace is where in a job's bundles a file of it stands. It is found again from
// any number, and kept because the next that is wanted is mostly the one behind.
type filesPlace struct {
	number               uint64 // of the file, counted from 0
	bundle, group, index int
}

// filesFrom lists what the job's accepted attempts wrote into its outputs, when that is
// to be published or kept: from a number on, as much as one command holds.
func (c *Core) filesFrom(j *job, from uint64) []*wire.CommittedFile {
	if j.phase != jobPublishing && !j.keep {
		return nil
	}
	at := j.filesAt
	if from < at.number {
		at = filesPlace{}
	}
	var list []*wire.CommittedFile
	left := c.set.CommandBytes
	for ; at.bundle < len(j.plan.Bundles); at.bundle, at.group = at.bundle+1, 0 {
		kept := j.bundles[at.bundle].kept
		for ; at.group < len(kept); at.group, at.index = at.group+1, 0 {
			files := kept[at.group].report.Files
			if skip := min(from-at.number, uint64(len(files)-at.index)); skip > 0 {
				at.number, at.index = at.number+skip, at.index+int(skip)
			}
			for ; at.index < len(files); at.index++ {
				if left <= 0 {
					j.filesAt = at
					return list
				}
				f := files[at.index]
				list = append(list, f)
				left -= fileBytes + len(f.Temporary) + len(f.Name)
				at.number, from = at.number+1, from+1
			}
		}
	}
	return list
}

// filesTotal is how many files filesFrom lists in all.
func (j *job) filesTotal() uint64 {
	if j.phase != jobPublishing && !j.keep {
		return 0
	}
	return uint64(j.files)
}

// sendFiles answers a worker that asks for further files. It keeps asking until an
// answer comes, so none is remembered.
func (c *Core) sendFiles(a *attempt, from uint64) {
	c.sureStarted(a)
	if !a.run.bundle.last() || a.stop != nil {
		return
	}
	c.command(a.launcher, &wire.Command{Do: &wire.Command_Files{Files: &wire.FilesUpdate{
		Attempt: uint64(a.id), From: from, Files: c.filesFrom(a.run.bundle.job, from),
	}}})
}
