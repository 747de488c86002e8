package faultypolicies

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/policies"
)

// eventsMax bounds the planned events of a short game: the median is 2, and that of the games that were
// found is 82.
const (
	eventsMax    = 8
	medianMax    = 3
	toldLinesMax = 120
)

// story is the story of a faulty policy, from random games alone.
func story(t *testing.T, a FaultyPolicy) policytest.Report {
	t.Helper()
	o := policytest.Options{NoStories: true, Seeds: 5, ShortenFor: time.Minute}
	if a.Name == "hangs" {
		o.AnswerWithin = 200 * time.Millisecond // of each play
	}
	return policytest.Check(t.Context(), policytest.InProcess(a.New), o)
}

// TestStoriesAreShort: the game in which each faulty policy is caught becomes a short one, which is told.
func TestStoriesAreShort(t *testing.T) {
	var before, after []int
	for _, a := range All() {
		if a.Name == "lax settings" || a.Name == "moody" {
			continue // no game shows the first, and the second plays no game twice alike
		}
		r := story(t, a)
		s := r.Story
		if s == nil {
			t.Errorf("%s: no story of %.500q", a.Name, r.Problems)
			continue
		}
		before, after = append(before, s.Before), append(after, s.After)
		if s.After > eventsMax || len(s.Told) == 0 || len(s.Told) > toldLinesMax || s.Problem == "" {
			t.Errorf("%s: the story is not short:\n%s", a.Name, s)
		}
		if err := r.Err(); !strings.Contains(err.Error(), s.String()) {
			t.Errorf("%s: the error does not tell the story:\n%v", a.Name, err)
		}
	}
	slices.Sort(before)
	slices.Sort(after)
	t.Logf("planned events before %d, and after %d", before, after)
	if len(after) == 0 || after[len(after)/2] > medianMax {
		t.Errorf("the median of %d is more than %d", after, medianMax)
	}
}

// TestAStoryTellsWhatHappened, in the same words each time.
func TestAStoryTellsWhatHappened(t *testing.T) {
	twice := FaultyPolicy{Name: "launches twice", New: LaunchesTwice}
	first, second := story(t, twice).Story, story(t, twice).Story
	if first == nil || second == nil || first.String() != second.String() {
		t.Fatalf("two stories of one policy:\n%s\n%s", first, second)
	}
	for _, part := range []string{
		"launcher 1 joins with 1 default", "job-1 is submitted", "bundle-1 of job-1 is ready", "the policy launches bundle-1 on launchers [1]",
		"What is wrong: seed 0: round 1: launch 1 of round 1 was refused: not ready", "--seeds 1 --seed 0",
	} {
		if !strings.Contains(first.String(), part) {
			t.Errorf("the story lacks %q:\n%s", part, first)
		}
	}
}

// TestAStoryIsFair: a game in which no policy could end its jobs is no story.
func TestAStoryIsFair(t *testing.T) {
	never := FaultyPolicy{Name: "launches nothing", New: LaunchesNothing}
	s := story(t, never).Story
	if s == nil || !strings.Contains(s.Problem, "never ended") || !strings.Contains(strings.Join(s.Planned, "\n"), "joins with") {
		t.Errorf("the story of a policy that launches nothing:\n%s", s)
	}
}

// TestNoStory is made when none is wanted, and of a policy that passes.
func TestNoStory(t *testing.T) {
	o := policytest.Options{NoStories: true, Seeds: 1, ShortenFor: -1}
	if r := policytest.Check(t.Context(), policytest.InProcess(LaunchesTwice), o); r.Err() == nil || r.Story != nil {
		t.Errorf("it has story %v, and ends with %v", r.Story, r.Err())
	}
	if r := policytest.Check(t.Context(), policytest.InProcess(policies.Delay), policytest.Options{NoStories: true, Seeds: 1}); r.Story != nil {
		t.Errorf("a good policy has the story\n%s", r.Story)
	}
}

// TestSeedsUntilATimeIsOver: the games go on behind the given seeds, each with the next seed.
func TestSeedsUntilATimeIsOver(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var names []string
	o := policytest.Options{NoStories: true, First: 7, Seeds: 2, Restarts: -1, For: time.Hour, Progress: func(game string, done, all int) {
		names = append(names, game)
		if len(names) == 5 {
			stop()
		}
		if done >= all {
			t.Errorf("%d games of %d are done", done, all)
		}
	}}
	policytest.Check(ctx, policytest.InProcess(policies.Delay), o)
	if want := []string{"seed 7", "seed 8", "seed 9", "seed 10", "seed 11"}; !slices.Equal(names, want) {
		t.Errorf("games %v, want %v", names, want)
	}
	o.For, o.Progress = time.Nanosecond, nil
	if r := policytest.Check(t.Context(), policytest.InProcess(policies.Delay), o); r.Games != 2 || r.Err() != nil {
		t.Errorf("when the time is over after the given seeds, %d games are played, and the end is %v", r.Games, r.Err())
	}
}
