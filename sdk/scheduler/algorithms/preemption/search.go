package preemption

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Search is a look for the victims of one bundle.
type Search struct {
	View   *view.View
	Bundle *view.Bundle
	// Suspend says that victims are suspended: they keep what memory there is no swap for.
	Suspend bool
	// Limits bound what may be suspended on a launcher. A victim that would be one too many is
	// left out.
	Limits scheduler.Limits
	// Most is how many victims are tried.
	Most int
	// Enough, if not nil, says whether the victims at some places free enough for a further bound
	// besides room on launchers, such as the maximum of a pool. Victims are picked until the bundle
	// fits and Enough returns true.
	Enough func(places []int) bool
}

// Find takes victims as next names them, until the bundle fits, and gives back those it does not
// need, the last ones first. Each victim is a launch of a bundle, with its live attempts. next
// returns none when there is nobody left. spare is called for each that was taken and is given
// back, by its place in the order of next; it may be nil.
//
// It returns the places of the victims, in order, and a launcher for each of the
// bundle's groups. What the victims set free and the bundle needs stays taken in the
// view. Where the bundle does not fit, nothing is returned, and nothing stays taken.
func (s Search) Find(next func() []*view.Attempt, spare func(place int)) ([]int, []scheduler.LauncherID) {
	mark := s.View.Capacity.Mark()
	var taken [][]*view.Attempt
	var places, tooMany []int
	fits := false
	for len(taken) < s.Most && !fits {
		v := next()
		if v == nil {
			break
		}
		taken = append(taken, v)
		if s.Suspend && !s.View.Capacity.MaySuspend(v, s.Limits) {
			tooMany = append(tooMany, len(taken)-1)
			continue
		}
		places = append(places, len(taken)-1)
		s.free(v)
		fits = s.enough(places) && s.fits()
	}
	if spare == nil {
		spare = func(int) {}
	}
	for _, place := range tooMany {
		spare(place)
	}
	if !fits {
		s.View.Capacity.Undo(mark)
		for _, place := range places {
			spare(place)
		}
		return nil, nil
	}
	for i := len(places) - 2; i >= 0; i-- { // without the last it did not fit
		without := slices.Delete(slices.Clone(places), i, i+1)
		if !s.enough(without) {
			continue
		}
		if _, ok := s.try(mark, taken, without); ok {
			spare(places[i])
			places = without
		}
	}
	where, _ := s.try(mark, taken, places)
	s.View.Capacity.HoldForUsers(mark)
	return places, where
}

func (s Search) enough(places []int) bool { return s.Enough == nil || s.Enough(places) }

func (s Search) fits() bool {
	_, ok := s.View.Fit(s.Bundle)
	return ok
}

// try fits the bundle with just these victims gone.
func (s Search) try(mark int, taken [][]*view.Attempt, places []int) ([]scheduler.LauncherID, bool) {
	s.View.Capacity.Undo(mark)
	for _, place := range places {
		s.free(taken[place])
	}
	return s.View.Fit(s.Bundle)
}

// free counts what a victim sets free, where the bundle may use it.
func (s Search) free(v []*view.Attempt) {
	for _, a := range v {
		switch {
		case s.Usable(a):
			s.View.Capacity.Release(a, s.Suspend)
		case s.Suspend:
			s.View.Capacity.CountSuspending(a)
		}
	}
}

// Useful says whether a victim holds a slot of a kind that the bundle needs, on a
// launcher that may run it.
func (s Search) Useful(v []*view.Attempt) bool {
	return slices.ContainsFunc(v, func(a *view.Attempt) bool {
		return s.Usable(a) && slices.ContainsFunc(s.Bundle.Groups, func(g scheduler.Group) bool { return g.Kind == a.Need.Kind })
	})
}

// Usable says whether the bundle may run where an attempt does. A launcher that is
// draining or excluded takes nothing new.
func (s Search) Usable(a *view.Attempt) bool {
	l := s.View.Launcher(a.Launcher)
	return l != nil && !l.Closed() && !slices.Contains(s.Bundle.Avoid, l.ID)
}
