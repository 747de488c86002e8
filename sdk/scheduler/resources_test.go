package scheduler_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"pgregory.net/rapid"
)

var kinds = []scheduler.ResourceKind{"cores", "gpu", "license-x"}

func amounts(t *rapid.T, least int) (scheduler.Resources, map[scheduler.ResourceKind]int) {
	has, list := map[scheduler.ResourceKind]int{}, []scheduler.ResourceCount{}
	for range rapid.IntRange(0, 4).Draw(t, "kinds") {
		c := scheduler.ResourceCount{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Count: rapid.IntRange(least, 3).Draw(t, "count")}
		has[c.Kind] += c.Count
		list = append(list, c)
	}
	return scheduler.NewResources(list...), has
}

func of(has map[scheduler.ResourceKind]int) scheduler.Resources {
	var list []scheduler.ResourceCount
	for kind, n := range has {
		list = append(list, scheduler.ResourceCount{Kind: kind, Count: n})
	}
	return scheduler.NewResources(list...)
}

// Resources are held against plain maps. Equal amounts are equal values, however they came about.
func TestResourcesLikeMaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, xs := amounts(t, -2)
		y, ys := amounts(t, 0)
		n := rapid.IntRange(-1, 3).Draw(t, "times")
		sum, difference, times, least, positive, covers := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}, true
		for _, k := range kinds {
			if x.Of(k) != xs[k] {
				t.Fatalf("%v has %d of %s, want %d", x, x.Of(k), k, xs[k])
			}
			sum[k], difference[k], times[k], least[k], positive[k] = xs[k]+ys[k], xs[k]-ys[k], n*xs[k], min(xs[k], ys[k]), max(xs[k], 0)
			covers = covers && (ys[k] == 0 || xs[k] >= ys[k])
		}
		for what, pair := range map[string][2]scheduler.Resources{
			"plus": {x.Plus(y), of(sum)}, "minus": {x.Minus(y), of(difference)}, "times": {x.Times(n), of(times)}, "least": {x.Least(y), of(least)}, "positive": {x.Positive(), of(positive)},
		} {
			if pair[0] != pair[1] {
				t.Fatalf("%v and %v: %s is %v, want %v", x, y, what, pair[0], pair[1])
			}
		}
		if x.Covers(y) != covers {
			t.Fatalf("%v covers %v: %t", x, y, x.Covers(y))
		}
		var back scheduler.Resources
		if data, err := json.Marshal(x); err != nil || json.Unmarshal(data, &back) != nil || back != x {
			t.Fatalf("%v came back as %v", x, back)
		}
	})
}

func TestResourcesAreRead(t *testing.T) {
	r, err := scheduler.ParseResources(" license-x:1, gpu:2")
	if err != nil || r.String() != "gpu:2,license-x:1" || r.FreedBySuspension([]string{"gpu"}).String() != "gpu:2" {
		t.Errorf("read as %v: %v", r, err)
	}
	if none, err := scheduler.ParseResources(""); err != nil || !none.IsZero() {
		t.Errorf("nothing is read as %v: %v", none, err)
	}
	for text, want := range map[string]string{
		"gpu": "write KIND:COUNT", "gpu:x": "write KIND:COUNT", "gpu:0": "1 to 1048576", "gpu:-1": "1 to 1048576", "gpu:1048577": "1 to 1048576",
		"GPU:1": "lower-case", "a_b:1": "lower-case", "-a:1": "begin with a letter", ":1": "of 0 bytes", "gpu:1,gpu:2": "named twice",
		strings.Repeat("a", 65) + ":1": "use 1 to 64", "a:1,b:1,c:1,d:1,e:1,f:1,g:1,h:1,i:1,j:1,k:1,l:1,m:1,n:1,o:1,p:1,q:1": "at most 16",
	} {
		if _, err := scheduler.ParseResources(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want something with %q", text, err, want)
		}
	}
}

// Values that nobody uses are collected, and equal ones that come later are equal all the same.
func TestUnusedResourcesAreCollected(t *testing.T) {
	kept := scheduler.NewResources(scheduler.ResourceCount{Kind: "gpu", Count: 1 << 19})
	for i := range 10_000 {
		scheduler.NewResources(scheduler.ResourceCount{Kind: "gpu", Count: 1 + i})
		if i%2500 == 0 {
			runtime.GC()
		}
	}
	if again := scheduler.NewResources(scheduler.ResourceCount{Kind: "gpu", Count: 1 << 19}); again != kept {
		t.Error("equal amounts differ")
	}
}
