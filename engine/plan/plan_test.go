package plan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/job"
)

func genSubmission(t *rapid.T) *Submission {
	text := rapid.StringMatching(`[a-z/ü]{0,6}`)
	number := rapid.Int64Range(0, 1<<40)
	place := rapid.Custom(func(t *rapid.T) job.Place {
		return job.Place{Host: text.Draw(t, "host"), Rack: text.Draw(t, "rack"), Bytes: number.Draw(t, "bytes")}
	})
	split := rapid.Custom(func(t *rapid.T) job.Split {
		s := job.Split{
			Path: text.Draw(t, "path"), Offset: number.Draw(t, "offset"), Length: number.Draw(t, "length"),
			Size: number.Draw(t, "size"), Version: text.Draw(t, "version"),
		}
		if n := rapid.IntRange(0, 3).Draw(t, "places"); n > 0 {
			s.Places = rapid.SliceOfN(place, n, n).Draw(t, "place")
		}
		return s
	})
	task := rapid.Map(rapid.SliceOfN(split, 0, 4), func(s []job.Split) job.Task { return job.Task(s) })
	return &Submission{
		Name: text.Draw(t, "name"), Args: rapid.SliceOfN(text, 1, 3).Draw(t, "args"),
		Inputs:  rapid.SliceOfN(rapid.SliceOfN(task, 0, 4), 0, 3).Draw(t, "inputs"),
		Folders: rapid.SliceOfN(text, 1, 3).Draw(t, "folders"), Channels: text.Draw(t, "channels"), Elements: text.Draw(t, "elements"),
	}
}

func TestPlanComesBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := genSubmission(t)
		blob, err := Encode(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(blob)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
		again, _ := Encode(got)
		if !bytes.Equal(blob, again) {
			t.Fatal("equal plans gave different bytes")
		}
	})
}

func TestDamagedPlanIsAnError(t *testing.T) {
	blob, err := Encode(&Submission{Name: "x", Args: []string{"a"}, Inputs: [][]job.Task{{{{Path: "/a/b", Size: 3}}}}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range blob {
		damaged := bytes.Clone(blob)
		damaged[i] ^= 0x10
		if _, err := Decode(damaged); err == nil {
			t.Errorf("bit flipped in byte %d and no error", i)
		}
		if _, err := Decode(blob[:i]); err == nil {
			t.Errorf("cut to %d bytes and no error", i)
		}
	}
	newer := bytes.Clone(blob)
	newer[len(magic)]++
	if _, err := Decode(newer); err == nil || errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "it has version 2 and this program reads version 1: start the version") {
		t.Errorf("newer: %v", err)
	}
	if _, err := Decode(blob[:len(blob)-1]); !errors.Is(err, ErrDamaged) {
		t.Errorf("cut blob: %v, want ErrDamaged", err)
	}
}

func nothing(context.Context, *job.Node) error { return nil }

func sample(extra bool) job.Definition {
	return job.Definition{Name: "sample", Build: func(g *job.Graph, args []string) error {
		tasks, err := g.Files(job.Files{Patterns: args})
		if err != nil {
			return err
		}
		g.Output("out")
		a := g.Stage("a", len(tasks), nothing).Read(tasks).Memory(7)
		b := g.Stage("b", 3, nothing).Slots(2).Shuffles()
		g.AllToAll(a.Out("x"), b.In("x"), job.Channel{Kind: job.File, Codec: job.LZ4, SlowStart: 0.5})
		if extra {
			g.Stage("c", 1, nothing)
		}
		return nil
	}}
}

func manyPlaces(first int64) []job.Task {
	var task job.Task
	for i := range 12 {
		task = append(task, job.Split{Path: "/f", Length: 1, Places: []job.Place{{Host: fmt.Sprintf("h%02d", i%10), Bytes: first + int64(i%10)}}})
	}
	return []job.Task{task, nil}
}

func TestGraphTellsTheLargestPlaces(t *testing.T) {
	p := &Submission{Name: "sample", Args: []string{"x"}, Inputs: [][]job.Task{manyPlaces(1)}, Folders: []string{"/out"}}
	g, err := Build([]job.Definition{sample(false)}, p)
	if err != nil {
		t.Fatal(err)
	}
	w, err := Graph(g)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, place := range w.Stages[0].Inputs[0].Places {
		got = append(got, fmt.Sprintf("%s:%d", place.Host, place.Bytes))
	}
	// Hosts 0 and 1 have two splits each; h01 holds 2+2, all others what they say.
	if want := "h09:10 h08:9 h07:8 h06:7 h05:6 h04:5 h01:4 h03:4"; strings.Join(got, " ") != want {
		t.Errorf("places %v, want %s", got, want)
	}
	if in := w.Stages[0].Inputs[0]; in.Bytes != 12 {
		t.Errorf("input bytes %d, want 12", in.Bytes)
	}
}

func TestFingerprintSeesStructureAndNotPlaces(t *testing.T) {
	print := func(extra bool, tasks []job.Task) string {
		g, err := Build([]job.Definition{sample(extra)}, &Submission{Name: "sample", Args: []string{"x"}, Inputs: [][]job.Task{tasks}, Folders: []string{"/out"}})
		if err != nil {
			t.Fatal(err)
		}
		w, err := Graph(g)
		if err != nil {
			t.Fatal(err)
		}
		return string(Fingerprint(w))
	}
	base := print(false, manyPlaces(1))
	if print(false, manyPlaces(5)) != base {
		t.Error("other places changed the fingerprint")
	}
	if print(true, manyPlaces(1)) == base {
		t.Error("another stage left the fingerprint as it was")
	}
	if print(false, append(manyPlaces(1), nil)) == base {
		t.Error("another node left the fingerprint as it was")
	}
}

func TestBuilderThatAsksForOtherInputs(t *testing.T) {
	for _, p := range []*Submission{
		{Name: "sample", Folders: []string{"/out"}},
		{Name: "sample", Inputs: make([][]job.Task, 2), Folders: []string{"/out"}},
		{Name: "sample", Inputs: make([][]job.Task, 1)},
	} {
		_, err := Build([]job.Definition{sample(false)}, p)
		if err == nil || !strings.Contains(err.Error(), "another graph the second time") {
			t.Errorf("inputs %d folders %d: %v", len(p.Inputs), len(p.Folders), err)
		}
	}
	if _, err := Build(nil, &Submission{Name: "gone"}); err == nil || !strings.Contains(err.Error(), `no job "gone"`) {
		t.Errorf("unknown job: %v", err)
	}
}

func TestKeepChannelsLeavesWhatTheAuthorChose(t *testing.T) {
	g := &wire.Graph{Connections: []*wire.Connection{
		{Kind: wire.ChannelKind_CHANNEL_KIND_FILE},
		{Kind: wire.ChannelKind_CHANNEL_KIND_FILE, Store: "/own"},
		{Kind: wire.ChannelKind_CHANNEL_KIND_TCP},
	}}
	before := Fingerprint(g)
	if KeepChannels(g, ""); !bytes.Equal(Fingerprint(g), before) {
		t.Error("no folder is another graph")
	}
	KeepChannels(g, "/site")
	if got := fmt.Sprint(g.Connections[0].Store, g.Connections[1].Store, g.Connections[2].Store); got != "/site/own" {
		t.Errorf("stores %s", got)
	}
	if bytes.Equal(Fingerprint(g), before) {
		t.Error("another store is the same graph")
	}
}

// Host names are the same in any case: those of inputs reach core and workers in lower case, as
// launchers' do.
func TestHostsAreInLowerCase(t *testing.T) {
	got := places(job.Task{{Places: []job.Place{{Host: "Node-A", Bytes: 1}}}, {Places: []job.Place{{Host: "node-a", Bytes: 2}}}}, 8)
	if len(got) != 1 || got[0].Host != "node-a" || got[0].Bytes != 3 {
		t.Errorf("%v", got)
	}
}
