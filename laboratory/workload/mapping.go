package workload

import (
	"embed"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/internal/document"
)

// Mapping says what the columns of a table mean, whose rows are tasks, or events of tasks, of jobs.
// ParseMapping reads one, and GivenMapping has those of public traces.
type Mapping struct {
	// Header says that the first line names the columns. Separator is between columns, default a
	// comma.
	Header    bool   `yaml:"header"`
	Separator string `yaml:"separator"`
	// Columns are the columns that count. One of them has the field job.
	Columns []MappedColumn `yaml:"columns"`
	// Keep are conditions, all of which a row must meet. Other rows are left out, and not counted.
	Keep []Condition `yaml:"keep"`
	// Graph is how names of stages tell which stages they read from. "alibaba": R3_1_2 reads from
	// the stages of the job with the numbers 1 and 2. "": a job's stages are independent.
	Graph string `yaml:"graph"`
	// Events translate the values of the column event to submit, start, end and stop. A row is an
	// event then, and a task works from its last start to its end. Stop is an end before the work
	// was done. Rows with other values are left out.
	Events map[string]string `yaml:"events"`
}

// MappedColumn is a column that counts.
type MappedColumn struct {
	// Column is its name in the header, or its number from 1.
	Column string `yaml:"column"`
	// Field is what it is: one of Fields, or property.NAME.
	Field string `yaml:"field"`
	// Unit is that of its numbers. A time has ns, us, ms, s (the default), min or h; a size B (the
	// default), KB to TB, or KiB to TiB. Any may be a number by which values are multiplied.
	Unit string `yaml:"unit"`
	// Values replace texts in the column.
	Values map[string]string `yaml:"values"`
}

// Condition is met by a row with one of some texts in a column.
type Condition struct {
	Column string   `yaml:"column"`
	Is     []string `yaml:"is"`
}

// field is the meaning of a column.
type field int

const (
	fieldJob field = iota
	fieldStage
	fieldTask
	fieldEvent
	fieldUser
	fieldPool
	fieldClass
	fieldName
	fieldHost
	fieldRack
	fieldSubmit // the first of the times
	fieldTime
	fieldStart
	fieldEnd
	fieldWork
	fieldEstimate
	fieldDeadline // the last of the times
	fieldTasks    // the first of the numbers
	fieldSlots
	fieldPriority // the last of the numbers
	fieldMemory   // the first of the sizes
	fieldInput
	fieldShuffle
	fieldOutput // the last of the sizes
	fieldsEnd
	fieldProperty
)

var fieldNames = [fieldsEnd]string{
	"job", "stage", "task", "event", "user", "pool", "class", "name", "host", "rack", "submit", "time", "start", "end", "work", "estimate", "deadline",
	"tasks", "slots", "priority", "memory", "input", "shuffle", "output",
}

// Fields lists what a column may be, besides property.NAME.
func Fields() []string { return slices.Clone(fieldNames[:]) }

var timeUnits = map[string]float64{
	"": 1e9, "ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "min": float64(time.Minute), "h": float64(time.Hour),
}

var sizeUnits = map[string]float64{
	"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
}

const propertyPrefix = "property."

// fieldOf is the meaning of a field's name.
func fieldOf(name string) (field, bool) {
	if strings.HasPrefix(name, propertyPrefix) && len(name) > len(propertyPrefix) {
		return fieldProperty, true
	}
	i := slices.Index(fieldNames[:], name)
	return field(i), i >= 0
}

// factor is what the numbers of a column are multiplied by.
func (m *MappedColumn) factor(f field) (float64, bool) {
	units := map[string]float64{"": 1}
	switch {
	case f >= fieldSubmit && f <= fieldDeadline:
		units = timeUnits
	case f >= fieldMemory && f <= fieldOutput:
		units = sizeUnits
	case f < fieldTasks || f == fieldProperty:
		return 1, m.Unit == ""
	}
	if x, ok := units[m.Unit]; ok {
		return x, true
	}
	x, err := strconv.ParseFloat(m.Unit, 64)
	return x, err == nil && x > 0 && x <= math.MaxInt64
}

// ParseMapping reads a mapping from YAML, strictly. The error is a scheduler.Problems with all
// problems by file and line.
func ParseMapping(file string, text []byte) (*Mapping, error) {
	m := &Mapping{}
	d, err := document.Decode(file, text, m)
	if err != nil {
		return nil, err
	}
	if err := d.Error(m.check()); err != nil {
		return nil, err
	}
	return m, nil
}

// check returns the problems of a mapping.
func (m *Mapping) check() (all []document.Problem) {
	bad := func(ok bool, message string, path ...any) {
		if !ok {
			all = append(all, document.Problem{Path: path, Message: message})
		}
	}
	bad(m.Separator == "" || len(m.Separator) == 1 && m.Separator != `"` && m.Separator >= " " || m.Separator == "\t", fmt.Sprintf("it is %q: one character is right", m.Separator), "separator")
	bad(m.Graph == "" || m.Graph == "alibaba", fmt.Sprintf("there is no rule %q: it is alibaba, or left out", m.Graph), "graph")
	seen := map[string]bool{}
	for i := range m.Columns {
		c := &m.Columns[i]
		f, known := fieldOf(c.Field)
		bad(known, fmt.Sprintf("there is no field %q: it is %s, or property.NAME", c.Field, strings.Join(Fields(), ", ")), "columns", i, "field")
		bad(!seen[c.Field], fmt.Sprintf("two columns have the field %s", c.Field), "columns", i, "field")
		seen[c.Field] = true
		m.checkColumn(c.Column, bad, "columns", i, "column")
		if _, ok := c.factor(f); known && !ok {
			bad(false, fmt.Sprintf("%q is no unit of the field %s", c.Unit, c.Field), "columns", i, "unit")
		}
	}
	for i := range m.Keep {
		m.checkColumn(m.Keep[i].Column, bad, "keep", i, "column")
		bad(len(m.Keep[i].Is) > 0, "it has no text: no row would be kept", "keep", i, "is")
	}
	m.checkTimes(seen, bad)
	return all
}

// checkColumn checks a reference to a column.
func (m *Mapping) checkColumn(column string, bad func(bool, string, ...any), path ...any) {
	n, err := strconv.Atoi(column)
	switch {
	case column == "":
		bad(false, "it is missing: it is a number from 1, or a name of the header", path...)
	case err == nil:
		bad(n >= 1 && n <= columnsMax, fmt.Sprintf("it is %d: from 1 to %d is right", n, columnsMax), path...)
	default:
		bad(m.Header, fmt.Sprintf("it is %q, and names need header: true", column), path...)
	}
}

// checkTimes checks that the columns tell how long a task works.
func (m *Mapping) checkTimes(seen map[string]bool, bad func(bool, string, ...any)) {
	bad(seen["job"], "no column has the field job", "columns")
	if len(m.Events) == 0 {
		bad(!seen["event"], "a column has the field event, and events does not say what its values are", "events")
		bad(seen["work"] || seen["start"] && seen["end"], "no column tells how long a task works: it is work, or start and end", "columns")
		bad(seen["submit"] || seen["start"], "no column tells when a job is submitted: it is submit, or start", "columns")
		return
	}
	bad(seen["event"] && seen["time"] && seen["task"], "rows that are events need columns of the fields event, time and task", "columns")
	for _, value := range slices.Sorted(maps.Keys(m.Events)) {
		is := m.Events[value]
		bad(is == "submit" || is == "start" || is == "end" || is == "stop", fmt.Sprintf("there is no event %q: it is submit, start, end or stop", is), "events", value)
	}
}

//go:embed mappings/*.yaml
var givenMappings embed.FS

// GivenMappings are the names of the mappings of public traces.
func GivenMappings() []string {
	entries, _ := givenMappings.ReadDir("mappings") // it is embedded
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// GivenMapping is the text of a mapping of a public trace; false: there is none of this name.
func GivenMapping(name string) ([]byte, bool) {
	text, err := givenMappings.ReadFile("mappings/" + name + ".yaml")
	return text, err == nil
}
