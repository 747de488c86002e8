package charts

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
)

var base = time.Unix(1_700_000_000, 0)

// reasons are so many, of so many kinds in turn, each for a minute and a minute apart.
func reasons(from time.Time, kinds, n int) *restapi.ReasonList {
	l := &restapi.ReasonList{}
	for i := range n {
		to := from.Add(time.Minute)
		l.Reasons = append(l.Reasons, restapi.Reason{From: from, To: &to, Reason: fmt.Sprintf("policy: reason %d", i%kinds)})
		from = to.Add(time.Minute)
	}
	return l
}

// The bars of each reason cover the times in which it stood, to a column, and a job that waits has a bar up to now.
func TestWaitsAreWhereTheyStood(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 19))
	for range 50 {
		l, at, want := &restapi.ReasonList{}, base, map[string][]bool{}
		long := time.Duration(1+r.IntN(1000)) * time.Minute
		column := func(t time.Time) int { return min(int(float64(t.Sub(base))/float64(long)*waitColumns), waitColumns-1) }
		for n := r.IntN(200); n >= 0; n-- {
			from := at.Add(time.Duration(r.Int64N(int64(long / 100))))
			to := from.Add(time.Duration(r.Int64N(int64(long / 100))))
			x := restapi.Reason{From: from, To: &to, Reason: fmt.Sprint("r", r.IntN(WaitRowsMax))}
			if at = to; n == 0 || to.After(base.Add(long)) {
				x.To, to, n = nil, base.Add(long), 0
			}
			if from.After(to) {
				continue
			}
			l.Reasons = append(l.Reasons, x)
			if want[x.Reason] == nil {
				want[x.Reason] = make([]bool, waitColumns)
			}
			for c := column(from); c <= column(to); c++ {
				want[x.Reason][c] = true
			}
		}
		got := map[string][]bool{}
		for _, e := range parse(t, Waits(l, base, base.Add(long))) {
			if e.Name != "rect" {
				continue
			}
			reason, _, _ := strings.Cut(e.Parents[len(e.Parents)-1].Title, ":")
			if got[reason] == nil {
				got[reason] = make([]bool, waitColumns)
			}
			x, width := e.Integer(t, "x"), e.Integer(t, "width")
			for c := (x - waitLeft) / waitColumn; c < (x-waitLeft+width)/waitColumn; c++ {
				got[reason][c] = true
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("bars cover\n%v, want\n%v", got, want)
		}
	}
}

// However many reasons there are, the drawing keeps its bounds; names are text, and a job that did not wait has none.
func TestWaitsAreBounded(t *testing.T) {
	if drawn := Waits(&restapi.ReasonList{}, base, base); drawn != "" {
		t.Errorf("nothing is drawn as %s", drawn)
	}
	l := reasons(base, 3*WaitRowsMax, 5000)
	for i, name := range hostile {
		l.Reasons[i].Reason = name
	}
	list := parse(t, Waits(l, base, base.Add(10_000*time.Minute)))
	bars, links := 0, map[string]bool{}
	for _, e := range list {
		switch e.Name {
		case "rect":
			bars++
		case "a":
			if links[e.Attr["href"]] {
				t.Errorf("%s is drawn twice", e.Attr["href"])
			}
			links[e.Attr["href"]] = true
		}
	}
	if most := (WaitRowsMax + 1) * waitColumns / 2; bars == 0 || bars > most {
		t.Errorf("%d bars, at most %d are drawn", bars, most)
	}
	if rest := of(list, "draw-whyrest"); len(rest) == 0 || !strings.Contains(rest[0].Parents[len(rest[0].Parents)-1].Title, "other reasons") {
		t.Errorf("the others are %v", rest)
	}
}
