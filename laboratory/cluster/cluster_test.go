package cluster

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const example = `# the cluster of the HFSP paper, with a rack of slower machines
launchers:
- {count: 100, slots: {map: 4, reduce: 2}, racks: 5, memory: 16GiB, swap: 8GiB}
- count: 10
  name: old
  slots: {map: 2}
  rack: cellar
  speed: 0.5
  canSuspend: false
  failEvery: 24h
failures:
- {launcher: node7, at: 10m, back: 5m}
- {launcher: old10, at: 20m}
replicas: 3
seed: 7
userLimits:
  each: {slots: 40, memory: 64GiB}
  users: {ann: {resources: {gpu: 2}}}
model:
  locality: {rack: 1.5, remote: 2}
  stragglers: {share: 0.1, factor: 5}
  start: 2s
  heartbeat: 3s
  slowStart: 0.05
  speculation: true
`

// Power and price are read, and what cannot be is refused with its place.
func TestPower(t *testing.T) {
	g := parse(t, "launchers: [{count: 2, slots: {map: 3, reduce: 1}, power: {idle: 100, full: 300}, price: 0.4}]").Groups[0]
	if *g.Power != (Power{Idle: 100, Full: 300}) || g.Price != 0.4 || g.PerSlot() != 50 {
		t.Errorf("got %+v, %v, and %v W for a slot", *g.Power, g.Price, g.PerSlot())
	}
	if g := parse(t, "launchers: [{count: 2, slots: {map: 3}, power: {idle: 100, slot: 20}}]").Groups[0]; g.PerSlot() != 20 {
		t.Errorf("got %v W for a slot, want 20", g.PerSlot())
	}
	for text, want := range map[string]string{
		"power: {idle: 100}":                          "power.full: it is 0: from what idle is to 1e+06 is right",
		"power: {idle: -1, slot: 2}":                  "power.idle: it is -1",
		"power: {idle: 1, slot: -2}":                  "power.slot: it is -2",
		"power: {idle: 1, full: 3, slot: 2}":          "power: it has the power of all slots and of each: give full or slot",
		"power: {idle: 1, full: 2, busy: 3}":          `unknown setting "busy"`,
		"power: {idle: .nan, full: .nan}":             "power.idle: it is NaN",
		"power: {idle: 1, full: 9000000}":             "power.full: it is 9e+06",
		"price: -1":                                   "price: it is -1",
		"price: 100000000, power: {idle: 1, full: 2}": "price: it is 1e+08",
	} {
		_, err := Parse("c.yaml", []byte("launchers: [{count: 2, slots: {map: 3}, "+text+"}]"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func parse(t *testing.T, text string) *Cluster {
	t.Helper()
	c, err := Parse("cluster.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestParse(t *testing.T) {
	c := parse(t, example)
	if n, slots := c.Launchers(), c.Slots(); n != 110 || slots["map"] != 420 || slots["reduce"] != 200 {
		t.Errorf("there are %d launchers with slots %v", n, slots)
	}
	all := c.Machines()
	first, last := all[6], all[109]
	if first.Name != "node7" || first.Rack != "rack2" || first.Memory != 16<<30 || first.Swap != 8<<30 || !first.CanSuspend || first.Slow != 1 ||
		first.Start != 2*time.Second || first.Locality != [3]float64{1, 1.5, 2} || len(first.Slots) != 2 || first.Slots[0].Kind != "map" {
		t.Errorf("node7 is %+v", first)
	}
	if last.Name != "old10" || last.Rack != "cellar1" || last.CanSuspend || last.Slow != 2 || last.Memory != 1<<40 {
		t.Errorf("old10 is %+v", last)
	}
	beats := map[time.Duration]bool{}
	for _, m := range all {
		if m.FirstBeat < 0 || m.FirstBeat >= 3*time.Second {
			t.Errorf("%s first beats after %v, which is not within its period", m.Name, m.FirstBeat)
		}
		beats[m.FirstBeat] = true
	}
	if len(beats) < 100 {
		t.Errorf("110 launchers first beat at %d times: they should be spread", len(beats))
	}
	if !reflect.DeepEqual(all, parse(t, example).Machines()) {
		t.Error("the same file gives other machines")
	}
	if c.Model.SlowStart != 0.05 || !c.Model.Speculation || c.Model.Latency != time.Millisecond {
		t.Errorf("the model is %+v", c.Model)
	}
	d := Default(3, map[string]int{"map": 1})
	if err := d.Check(); err != nil || !reflect.DeepEqual(d, parse(t, "launchers: [{count: 3, slots: {map: 1}}]")) {
		t.Errorf("the default is %+v, error %v", d, err)
	}
}

func TestMistakesNameFileAndLine(t *testing.T) {
	group := "launchers:\n- count: 2\n  slots: {map: 1}\n"
	for _, test := range []struct{ text, want string }{
		{"", "c.yaml:1: launchers: there are none"},
		{"launchers: []\n", "c.yaml:1: launchers: there are none"},
		{"launchers:\n- {count: 4}\n", "c.yaml:2: launchers[1].slots: a launcher needs a slot"},
		{"launchers:\n- count: 4\n  slots: {map: 0}\n", "c.yaml:3: launchers[1].slots: a launcher needs a slot"},
		{"launchers:\n- count: 4\n  slots: {map: 1, reduce: -1}\n", "c.yaml:3: launchers[1].slots.reduce: there are -1"},
		{"launchers:\n- count: 4\n  slots: {map: 99999999999999999999}\n", "c.yaml:3: "},
		{"launchers:\n- slots: {map: 1}\n", "c.yaml:2: launchers[1].count: there are 0 of them"},
		{"launchers:\n- {count: 2000000, slots: {map: 1}}\n", "c.yaml:2: launchers[1].count: with it there are more than 1000000"},
		{group + "  sped: 2\n", `c.yaml:4: unknown setting "sped"`},
		{group + "  speed: .nan\n", "c.yaml:4: launchers[1].speed: it is NaN"},
		{group + "  speed: 0\n", "c.yaml:4: launchers[1].speed: it is 0"},
		{group + "  memory: lots\n", `c.yaml:4: "lots" is no size`},
		{group + "  failEvery: -3s\n", "c.yaml:4: launchers[1].failEvery: it is -3s"},
		{group + "  failEvery: 3\n", "c.yaml:4: "},
		{group + "  name: a b\n", "c.yaml:4: launchers[1].name: names of launchers"},
		{group + "- {count: 1, slots: {map: 1}}\n", `launchers[2].name: two groups are named "node"`},
		{group + "failures:\n- {launcher: node3, at: 1m}\n", `c.yaml:5: failures[1].launcher: there is no launcher "node3"`},
		{group + "failures:\n- {launcher: node2, at: -1m}\n", "c.yaml:5: failures[1].at: it is -1m0s"},
		{group + "replicas: 100\n", "c.yaml:4: replicas: it is 100"},
		{group + "userLimits: {each: {slots: -1}}\n", "c.yaml:4: userLimits.each.slots: it is -1: use 0, which is no limit, or more"},
		{group + "userLimits: {users: {ann: {resources: {gpu: -1}}}}\n", "c.yaml:4: userLimits.users.ann.resources: -1 of resource gpu"},
		{group + "userLimits: {each: {memory: much}}\n", `c.yaml:4: "much" is no size`},
		{"launchers:\n- {count: 1, slots: {map: 1}, resources: {gpu: -1}}\n", "c.yaml:2: launchers[1].resources: "},
		{group + "model:\n  network: {host: -1}\n", "c.yaml:"},
		{group + "model:\n  locality:\n    rack: 0.5\n", "c.yaml:6: model.locality.rack: it is 0.5"},
		{group + "model:\n  locality: {rack: 3, remote: 2}\n", "c.yaml:5: model.locality.remote: it is 2: at least what rack is"},
		{group + "model: {slowStart: 0}\n", "c.yaml:4: model.slowStart: it is 0"},
		{group + "model: {slowStart: .nan}\n", "c.yaml:4: model.slowStart: it is NaN"},
		{group + "model:\n  stragglers: {share: 2}\n", "c.yaml:5: model.stragglers.share: it is 2"},
		{group + "model:\n  heartbeat: 9000h\n", "c.yaml:5: model.heartbeat: it is 9000h0m0s"},
		{group + "model: {}\nmodel: {}\n", "c.yaml:5: mapping key \"model\" already defined at line 4"},
		{group + "---\nlaunchers: []\n", "c.yaml:4: a second document begins here"},
		{strings.Repeat("#", 4<<20+1), "c.yaml:1: the file has 4194305 bytes"},
		{"- a\n", "c.yaml:1: "},
	} {
		c, err := Parse("c.yaml", []byte(test.text))
		var problems scheduler.Problems
		if c != nil || !errors.As(err, &problems) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.80q: got %v\nwant %s", test.text, err, test.want)
		}
	}
	c := Default(1, map[string]int{"map": 1})
	c.Model.Start = -1
	if err := c.Check(); err == nil || !strings.Contains(err.Error(), "model.start: it is -1ns") {
		t.Errorf("got %v", err)
	}
}

// A task's time depends only on its own seed, whatever was asked for before.
func TestTimesDoNotDependOnTheOrder(t *testing.T) {
	c := parse(t, example)
	task := &workload.Task{Work: time.Minute, Input: 1}
	key := func(i int) Key { return Key{i % 7, i % 2, i, i % 3} }
	const n = 10_000
	forward, slow := make([]time.Duration, n), 0
	for i := range n {
		forward[i] = c.Work(task, key(i))
		switch forward[i] {
		case 5 * time.Minute:
			slow++
		case time.Minute:
		default:
			t.Fatalf("a task of a minute takes %v", forward[i])
		}
	}
	for i := n - 1; i >= 0; i-- {
		if d := c.Work(task, key(i)); d != forward[i] {
			t.Fatalf("task %d takes %v, and took %v", i, d, forward[i])
		}
	}
	if slow < n/10-n/50 || slow > n/10+n/50 {
		t.Errorf("%d of %d are stragglers: a tenth should be", slow, n)
	}
	quick := Key{}
	for c.Work(task, quick) != time.Minute {
		quick.Task++
	}
	for _, test := range []struct {
		near  scheduler.Locality
		speed float64
		want  time.Duration
	}{
		{scheduler.NodeLocal, 1, 62 * time.Second},
		{scheduler.RackLocal, 1, 92 * time.Second},
		{scheduler.Remote, 1, 122 * time.Second},
		{scheduler.Remote, 0.5, 244 * time.Second},
	} {
		if d := c.Takes(task, quick, test.near, test.speed); d != test.want {
			t.Errorf("%v, at speed %v it takes %v, not %v", test.near, test.speed, d, test.want)
		}
	}
	if d := c.Takes(&workload.Task{Work: time.Minute}, quick, scheduler.Remote, 1); d != 62*time.Second {
		t.Errorf("without stored input it takes %v anywhere, not 62 s", d)
	}
}

// Figure 8 of the HFSP paper: 2 GiB in 40 s, 1 GiB in at most 20 s, a straight line.
func TestSwapTimesAreThoseOfFigure8(t *testing.T) {
	m := DefaultModel()
	for gib, want := range map[float64]time.Duration{0: 0, 0.5: 10 * time.Second, 1: 20 * time.Second, 2: 40 * time.Second, 5: 100 * time.Second} {
		if d := m.SwapTime(int64(gib * (1 << 30))); d != want {
			t.Errorf("%v GiB take %v, not %v", gib, d, want)
		}
	}
}

// Copies lie on hosts of their own, the second in another rack, the third with the second,
// and hosts are chosen about equally often.
func TestCopies(t *testing.T) {
	c := parse(t, example)
	places := c.Copies()
	count := map[string]int{}
	const n = 20_000
	for i := range n {
		p := places(1, 0, i)
		if len(p) != 3 || p[0].Host == p[1].Host || p[1].Host == p[2].Host || p[0].Host == p[2].Host || p[0].Rack == p[1].Rack || p[1].Rack != p[2].Rack {
			t.Fatalf("the copies of task %d are %v", i, p)
		}
		if again := places(1, 0, i); !reflect.DeepEqual(p, again) {
			t.Fatalf("the copies of task %d are %v and then %v", i, p, again)
		}
		count[p[0].Host]++
	}
	for host, times := range count {
		if mean := float64(n) / 110; math.Abs(float64(times)-mean) > 6*math.Sqrt(mean) {
			t.Errorf("%s has the first copy %d times, not about %.0f times", host, times, mean)
		}
	}
	if p := Default(2, map[string]int{"map": 1}).Copies()(0, 0, 0); len(p) != 2 || p[0] == p[1] {
		t.Errorf("two hosts have the copies %v", p)
	}
	c.Replicas = 0
	if c.Copies() != nil {
		t.Error("there are copies when none are wanted")
	}
}

func TestOutages(t *testing.T) {
	c := parse(t, example)
	all, err := c.Outages(100 * 24 * time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := parse(t, example).Outages(100 * 24 * time.Hour)
	if !reflect.DeepEqual(all, again) {
		t.Error("the same file gives other outages")
	}
	if all[0] != (Outage{6, 10 * time.Minute, 15 * time.Minute}) && all[1] != (Outage{6, 10 * time.Minute, 15 * time.Minute}) {
		t.Errorf("node7 fails after 10 minutes for 5: got %v", all[:3])
	}
	until := map[int]time.Duration{}
	gone := false
	for i, o := range all {
		if i > 0 && o.From < all[i-1].From || o.From < until[o.Launcher] || o.Launcher == 109 && gone {
			t.Fatalf("outage %d, %+v, is out of order or within another", i, o)
		}
		until[o.Launcher] = o.To
		gone = gone || o.Launcher == 109 && o.To == 0
	}
	if !gone || len(all) < 700 || len(all) > 1100 {
		t.Errorf("nine launchers that fail once a day fail %d times in 100 days, and old10 is gone: %v", len(all), gone)
	}
}

// Whatever text there is, there is a cluster that passes Check or an error that names the
// file.
func FuzzParse(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte("launchers: &a\n- {count: 1, slots: {x: 1}}\nfailures: *a\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse("f", text)
		if err != nil {
			if c != nil || !strings.Contains(err.Error(), "f:") {
				t.Fatalf("%v", err)
			}
			return
		}
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
	})
}

// Launchers on hosts have those names and racks, and what their group has; failures by name and
// several groups leave nothing to take the place of.
func TestOnHosts(t *testing.T) {
	c := Default(7, map[string]int{"map": 3})
	hosts := []workload.Place{{Host: "a", Rack: "r1"}, {Host: "b", Rack: "r2"}}
	if err := c.OnHosts(hosts); err != nil {
		t.Fatal(err)
	}
	if err := c.Check(); err != nil {
		t.Error(err)
	}
	all := c.Machines()
	if len(all) != 2 || all[0].Name != "a" || all[1].Host != "b" || all[1].Rack != "r2" || all[1].Slots[0].Count != 3 {
		t.Errorf("machines %+v", all)
	}
	if err := c.OnHosts(hosts); err == nil {
		t.Error("two groups were replaced")
	}
	c = Default(1, map[string]int{"map": 1})
	c.Failures = []Failure{{Launcher: "node1"}}
	if err := c.OnHosts(hosts); err == nil || c.Launchers() != 1 {
		t.Errorf("failures of launchers that are no more: %v", err)
	}
}

// Away from its input a map of 95 s takes 125 s, as in table 1 of Hammr's paper, unless the file
// says otherwise.
func TestLocalityCostsByDefault(t *testing.T) {
	c := Default(1, map[string]int{"map": 1})
	task := &workload.Task{Work: 95 * time.Second, Input: 512 << 20}
	for near, want := range map[scheduler.Locality]time.Duration{
		scheduler.NodeLocal: 96 * time.Second, scheduler.RackLocal: 126 * time.Second, scheduler.Remote: 126 * time.Second,
	} {
		if d := c.Takes(task, Key{}, near, 1); d.Round(time.Millisecond) != want {
			t.Errorf("%v it takes %v with its start, not %v", near, d, want)
		}
	}
	free := parse(t, "launchers: [{count: 1, slots: {map: 1}}]\nmodel: {locality: {rack: 1, remote: 1}}\n")
	if d := free.Takes(task, Key{}, scheduler.Remote, 1); d != 96*time.Second {
		t.Errorf("where distance costs nothing it takes %v", d)
	}
}
