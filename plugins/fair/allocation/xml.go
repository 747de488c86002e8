package allocation

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"

	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
)

// The slot kinds in the XML form.
const (
	mapKind    = "map"
	reduceKind = "reduce"
)

// element is a piece of XML with its line.
type element struct {
	name     string
	attr     string // its name attribute
	text     string
	line     int
	children []*element
}

// textOnce are the elements that may occur only once in their parent.
var textOnce = map[string]bool{
	"poolMaxJobsDefault": true, "userMaxJobsDefault": true, "defaultMinSharePreemptionTimeout": true, "defaultPoolSchedulingMode": true,
	"minMaps": true, "minReduces": true, "maxMaps": true, "maxReduces": true, "maxRunningJobs": true, "weight": true, "schedulingMode": true,
	"minSharePreemptionTimeout": true, "fairSharePreemptionTimeout": true,
}

// once refuses elements that occur more than once in a parent that may have only one.
func (r *reader) once(e *element, in string) {
	first := map[string]int{}
	for _, c := range e.children {
		line, twice := first[c.name]
		switch {
		case !textOnce[c.name]:
		case twice:
			r.problem(c.line, "<%s> stands twice in %s (first on line %d): remove one", c.name, in, line)
		default:
			first[c.name] = c.line
		}
	}
}

// xml reads the Hadoop Fair Scheduler's allocation file. Unlike the original, what
// it does not know is a problem: a limit that is spelled wrong is no limit.
//
// The text was decoded already when it began with a byte order mark.
func (r *reader) xml(text []byte, marked bool, a *Table) {
	root := r.elements(text, marked)
	if root == nil {
		return
	}
	if root.name != "allocations" {
		r.problem(root.line, "the root element is <%s>: it must be <allocations>", root.name)
		return
	}
	r.once(root, "<allocations>")
	for _, e := range root.children {
		switch e.name {
		case "pool":
			r.xmlPool(e, "", a)
		case "user":
			r.xmlUser(e, a)
		case "poolMaxJobsDefault":
			r.countText(&a.poolJobsMax, 1, e.line, e.text)
		case "userMaxJobsDefault":
			r.countText(&a.userJobsMax, 1, e.line, e.text)
		case "defaultMinSharePreemptionTimeout":
			r.secondsText(&a.minShareTimeout, e.line, e.text)
		case "fairSharePreemptionTimeout":
			r.secondsText(&a.fairShareTimeout, e.line, e.text)
		case "defaultPoolSchedulingMode":
			r.orderText(&a.order, e.line, e.text)
		default:
			r.unknown(e, "<allocations>")
		}
	}
}

func (r *reader) unknown(e *element, in string) {
	r.problem(e.line, "unknown element <%s> in %s: correct its name or remove it", e.name, in)
}

func (r *reader) xmlPool(e *element, parent string, a *Table) {
	path := e.attr
	if parent != "" {
		path = parent + pooltree.Separator + path
	}
	p := newPool(path, parent)
	p.line = e.line
	a.add(r, p)
	r.once(e, "pool "+path)
	for _, c := range e.children {
		switch c.name {
		case "minMaps":
			r.xmlSlots(p.minShare, mapKind, 0, c)
		case "minReduces":
			r.xmlSlots(p.minShare, reduceKind, 0, c)
		case "maxMaps":
			r.xmlSlots(p.maxShare, mapKind, 1, c)
		case "maxReduces":
			r.xmlSlots(p.maxShare, reduceKind, 1, c)
		case "maxRunningJobs":
			r.countText(&p.jobsMax, 1, c.line, c.text)
		case "weight":
			r.numberText(&p.weight, 0, weightMax, c.line, c.text)
		case "schedulingMode":
			r.orderText(&p.order, c.line, c.text)
		case "minSharePreemptionTimeout":
			r.secondsText(&p.minShareTimeout, c.line, c.text)
		case "fairSharePreemptionTimeout":
			r.secondsText(&p.fairShareTimeout, c.line, c.text)
		case "pool":
			r.xmlPool(c, path, a)
		default:
			r.unknown(c, "pool "+path)
		}
	}
}

func (r *reader) xmlSlots(into map[string]int, kind string, low int, e *element) {
	var n int
	before := len(r.problems)
	r.countText(&n, low, e.line, e.text)
	if len(r.problems) == before {
		into[kind] = n
	}
}

func (r *reader) xmlUser(e *element, a *Table) {
	if _, twice := a.users[e.attr]; twice || e.attr == "" {
		r.problem(e.line, "user %q stands twice or has no name: remove one, or name it", e.attr)
		return
	}
	most := Unlimited
	r.once(e, "user "+e.attr)
	for _, c := range e.children {
		if c.name != "maxRunningJobs" {
			r.unknown(c, "user "+e.attr)
			continue
		}
		r.countText(&most, 1, c.line, c.text)
	}
	a.users[e.attr] = most
}

// elements parses XML into a tree; nil when it is broken.
func (r *reader) elements(text []byte, marked bool) *element {
	d := xml.NewDecoder(bytes.NewReader(text))
	d.CharsetReader = charsetReader(marked)
	var root *element
	var open []*element
	for {
		line, _ := d.InputPos()
		token, err := d.Token()
		if errors.Is(err, io.EOF) && root != nil {
			return root
		}
		if err != nil {
			r.problem(line, "%v", err)
			return nil
		}
		switch t := token.(type) {
		case xml.StartElement:
			at, _ := d.InputPos()
			e := &element{name: t.Name.Local, line: at}
			r.attributes(e, t.Attr)
			switch {
			case len(open) > 0:
				up := open[len(open)-1]
				up.children = append(up.children, e)
			case root == nil:
				root = e
			default:
				r.problem(at, "a second root element <%s>: remove it", e.name)
			}
			open = append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				open[len(open)-1].text += string(t)
			}
		}
	}
}

func (r *reader) attributes(e *element, all []xml.Attr) {
	named := false
	for _, a := range all {
		switch {
		case a.Name.Local != "name":
			r.problem(e.line, "unknown attribute %q of <%s>: remove it", a.Name.Local, e.name)
		case named:
			r.problem(e.line, "<%s> has two names: remove one", e.name)
		default:
			e.attr, named = a.Value, true
		}
	}
}
