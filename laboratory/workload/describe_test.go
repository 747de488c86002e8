package workload

import (
	"reflect"
	"testing"
)

func TestDescribe(t *testing.T) {
	s := small().Describe()
	one := Spread{60, 60, 60, 60, 60, 60}
	want := Summary{
		Name: "small", Jobs: 2, Tasks: 4, Placed: 1, Users: 1, Pools: 1, Span: 60, Input: 150, Shuffle: 7, Output: 3, Gaps: one,
		JobTasks: Spread{2, 2, 2, 2, 2, 2}, JobWork: Spread{(3 + 4e-9) / 2, 4e-9, 4e-9, 3, 3, 3},
		Kinds: []Kind{
			{"map", 3, 3 + 3e-9, Spread{(3 + 3e-9) / 3, 3e-9, 1, 2, 2, 2}},
			{"reduce", 1, 1e-9, Spread{1e-9, 1e-9, 1e-9, 1e-9, 1e-9, 1e-9}},
		},
		Classes: []Group{{"", 1, 2, 4e-9}, {"short", 1, 2, 3}},
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
	if l := (Kind{Work: 90}).Load(3, 60); l != 0.5 {
		t.Errorf("90 slot-seconds on 3 slots within a minute are a load of %v, not 0.5", l)
	}
	if l := (Kind{Work: 90}).Load(0, 60); l != 0 {
		t.Errorf("without slots the load is %v", l)
	}

	// The published workload: a load of 0.90 on 400 map slots and 0.18 on 200 reduce slots.
	fb := load(t, "../../traces/fb2009-100.jsonl.gz", Options{}).Describe()
	if m, r := fb.Kinds[0].Load(400, fb.Span), fb.Kinds[1].Load(200, fb.Span); m < 0.895 || m > 0.91 || r < 0.18 || r > 0.19 {
		t.Errorf("FB2009 has a load of %.3f of maps and %.3f of reduces; 0.90 and 0.18 are published", m, r)
	}
	if fb.Gaps.Mean < 12.9 || fb.Gaps.Mean > 13.3 || fb.Classes[2].Name != "small" || fb.Classes[2].Jobs != 53 {
		t.Errorf("FB2009 is %+v", fb)
	}
}
