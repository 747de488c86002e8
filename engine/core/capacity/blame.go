package capacity

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// BlameLimits say when the site avoids a launcher.
type BlameLimits struct {
	Jobs         int // that avoid it
	SharePercent int // of the launchers that are up which are avoided at most
}

// Blame notes that a job avoids a launcher, and says whether the site avoids it from now
// on, until a time: when enough jobs do, unless too many are avoided already. Then it is the
// work that is bad, or the site.
func (c *Capacity) Blame(l *Launcher, by scheduler.JobID, until scheduler.Time, s BlameLimits) bool {
	if i, found := slices.BinarySearch(l.blamedBy, by); !found {
		l.blamedBy = slices.Insert(l.blamedBy, i, by)
	}
	if l.Blamed || len(l.blamedBy) < s.Jobs {
		return false
	}
	blamed := 1
	for _, id := range c.launchers.IDs() {
		if x := c.launchers.Get(id); x.Up && x.Blamed {
			blamed++
		}
	}
	if blamed*100 > c.up*s.SharePercent {
		return false
	}
	l.Blamed, l.blamedUntil = true, until
	c.releaseOn(l)
	c.Changed(l)
	c.replaced = true
	return true
}

// Excluded returns for which jobs the site avoids a launcher, to be kept by the caller, and
// until when; 0: it does not.
func (l *Launcher) Excluded() ([]scheduler.JobID, scheduler.Time) {
	if !l.Up || !l.Blamed {
		return nil, 0
	}
	return slices.Clone(l.blamedBy), l.blamedUntil
}

// Acquit takes back what a job held against launchers, and lists those that are excluded no
// more because of it, in order of id.
func (c *Capacity) Acquit(job scheduler.JobID, s BlameLimits) (readmitted []*Launcher) {
	for _, id := range c.launchers.IDs() {
		l := c.launchers.Get(id)
		i, found := slices.BinarySearch(l.blamedBy, job)
		if !found {
			continue
		}
		l.blamedBy = slices.Delete(l.blamedBy, i, i+1)
		if c.Touch(l); len(l.blamedBy) < s.Jobs && c.Readmit(l) {
			readmitted = append(readmitted, l)
		}
	}
	return readmitted
}

// Readmit ends at once that a launcher is excluded, and says whether it was.
func (c *Capacity) Readmit(l *Launcher) bool {
	return c.Forgive(l.ID, l.blamedUntil)
}

// Forgive ends that a launcher is avoided, when it is time, and says whether it did. One that
// joined anew since it was blamed, and was blamed again, is avoided for longer.
func (c *Capacity) Forgive(id scheduler.LauncherID, now scheduler.Time) bool {
	l := c.launchers.Get(id)
	if l == nil || !l.Up || !l.Blamed || now < l.blamedUntil {
		return false
	}
	l.Blamed, l.blamedBy, l.blamedUntil = false, nil, 0
	c.Changed(l)
	c.replaced, c.roomier = true, true
	return true
}
