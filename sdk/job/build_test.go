package job

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// array is ParseElements for elements that are right.
func array(text string) Elements {
	e, err := ParseElements(text)
	if err != nil {
		panic(err)
	}
	return e
}

func TestParseElements(t *testing.T) {
	if e := array("7,0-99:50%2"); e.Count() != 3 || e.Index(1) != 7 || e.AtOnce() != 2 || e.String() != "0,7,50%2" || e.Indices() != "0,7,50" {
		t.Errorf("the elements are %v", e)
	}
	for text, want := range map[string]string{
		"": "there is no index", "0-9%": "no number of elements at once", "0-9%0": "no number of elements at once", "0-9%x": "no number of elements at once", "5-1": "goes backwards", "1,1": "named twice",
	} {
		if e, err := ParseElements(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %v (%v), want an error with %q", text, e, err, want)
		}
	}
}

// TestElementsOfTheSubmitter: a builder gets the elements that the submitter names. One that does not
// ask for them is refused them.
func TestElementsOfTheSubmitter(t *testing.T) {
	build := func(g *Graph, args []string) error {
		if len(args) > 0 {
			e := g.Elements()
			g.Stage("a", e.Count(), idle).Elements(e)
		} else {
			g.Stage("a", 1, idle)
		}
		return nil
	}
	d := Definition{Name: "j", Build: build}
	given := WithElements(Recorded(nil, nil), array("3-9:3"))
	g, err := Build(d, []string{"array"}, given)
	if err != nil {
		t.Fatal(err)
	}
	if s := g.Stages()[0].Spec(); s.Nodes != 3 || s.Element(1) != 6 {
		t.Errorf("the stage is %+v", s)
	}
	if _, err := Build(d, nil, given); err == nil || !strings.Contains(err.Error(), "it takes no --array") {
		t.Errorf("a job that is no array takes elements: %v", err)
	}
	if g, err := Build(d, nil, Recorded(nil, nil)); err != nil || g.Stages()[0].Spec().Nodes != 1 || g.Elements().Count() != 0 {
		t.Errorf("without elements: %v", err)
	}
}

func idle(context.Context, *Node) error { return nil }

// TestWrongGraphsAreNamed: errors of the author name stage and port.
func TestWrongGraphsAreNamed(t *testing.T) {
	for want, build := range map[string]func(g *Graph){
		`two stages are called "a"`:            func(g *Graph) { g.Stage("a", 1, idle); g.Stage("a", 1, idle) },
		`stage 0 has no name`:                  func(g *Graph) { g.Stage("", 1, idle) },
		`stage "a" has no program`:             func(g *Graph) { g.Stage("a", 1, nil) },
		`command stage "a" names no command`:   func(g *Graph) { g.CommandStage("a", 1, Command{}) },
		`stage "a" has -1 nodes`:               func(g *Graph) { g.Stage("a", -1, idle) },
		`stage "a" has 2 nodes and 3 elements`: func(g *Graph) { g.Stage("a", 2, idle).Elements(array("0-2")) },
		`the stages "a" and "b" both have`:     func(g *Graph) { g.Stage("a", 1, idle).Elements(array("0")); g.Stage("b", 1, idle).Elements(array("0")) },
		`stage "b" has elements, and a conn`: func(g *Graph) {
			a, b := g.Stage("a", 1, idle), g.Stage("b", 1, idle).Elements(array("7"))
			g.OneToOne(a.Out("o"), b.In("i"), Channel{Kind: File})
		},
		`input port "x" of stage "a"`:          func(g *Graph) { g.Stage("a", 1, idle).In("x") },
		`output port "y" of stage "a"`:         func(g *Graph) { g.Stage("a", 1, idle).Out("y") },
		`stage "a" has 2 nodes and 1 tasks`:    func(g *Graph) { g.Stage("a", 2, idle).Read([]Task{{}}) },
		`one-to-one but joins 1 nodes to 2`:    func(g *Graph) { join(g, 1, 2, g.OneToOne, Channel{Kind: File}) },
		`merges 1 nodes into 2: use Fork`:      func(g *Graph) { join(g, 1, 2, g.Merge, Channel{Kind: File}) },
		`forks 2 nodes into 1: use Merge`:      func(g *Graph) { join(g, 2, 1, g.Fork, Channel{Kind: File}) },
		`a.o to b.i has no channel kind`:       func(g *Graph) { join(g, 1, 1, g.OneToOne, Channel{}) },
		`slow-start, which only file channels`: func(g *Graph) { join(g, 1, 1, g.OneToOne, Channel{Kind: TCP, SlowStart: 0.5}) },
		`slow-start 1: use`:                    func(g *Graph) { join(g, 1, 1, g.OneToOne, Channel{Kind: File, SlowStart: 1}) },
		`two outputs go to "/out"`:             func(g *Graph) { g.Output("/out"); g.Output("/out") },
		`from an Out port to an In port`:       func(g *Graph) { s := g.Stage("a", 1, idle); g.OneToOne(s.In("x"), s.Out("y"), Channel{Kind: File}) },
		`an edge from node 0 to node 5`: func(g *Graph) {
			a, b := g.Stage("a", 1, idle), g.Stage("b", 1, idle)
			g.Connect(a.Out("o"), b.In("i"), Channel{Kind: File}, []Edge{{0, 5}})
		},
	} {
		_, err := Build(Definition{Name: "j", Build: func(g *Graph, _ []string) error {
			build(g)
			return nil
		}}, nil, Recorded(nil, []string{"/out", "/out"}))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "job j: ") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func join(g *Graph, n, m int, connect func(from, to Port, c Channel), c Channel) {
	connect(g.Stage("a", n, idle).Out("o"), g.Stage("b", m, idle).In("i"), c)
}

// Names that are not UTF-8 can't be sent to the cluster: they are refused by name when the
// graph is built.
func TestNamesThatAreNotUTF8AreRefused(t *testing.T) {
	const bad = "r\xe9sum\xe9"
	program := func(context.Context, *Node) error { return nil }
	plan := Recorded([][]Task{{{Split{Path: "/in/" + bad}}}}, []string{"/out/" + bad})
	for what, build := range map[string]func(g *Graph) error{
		"argument 2":    nil, // an argument that is bad is refused before the builder runs
		"output folder": func(g *Graph) error { g.Output(bad); return nil },
		"stage":         func(g *Graph) error { g.Stage(bad, 1, program); return nil },
		"property":      func(g *Graph) error { g.Property("a", bad); return nil },
		"slots":         func(g *Graph) error { g.Stage("a", 1, program).Kind(bad); return nil },
		"port":          func(g *Graph) error { g.Stage("a", 1, program).Out(bad); return nil },
		"travels":       func(g *Graph) error { g.Stage("a", 1, program).Files(bad); return nil },
		"command":       func(g *Graph) error { g.CommandStage("a", 1, Command{Args: []string{"cat", bad}}); return nil },
		"input file":    func(g *Graph) error { _, err := g.Files(Files{}); return err },
	} {
		args := []string{"good", "good"}
		if build == nil {
			args[1] = bad
			build = func(*Graph) error { return nil }
		}
		_, err := Build(Definition{Name: "x", Build: func(g *Graph, _ []string) error { return build(g) }}, args, plan)
		if !errors.Is(err, ErrPermanent) || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), `r\xe9sum\xe9" is not UTF-8`) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
