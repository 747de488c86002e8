package experiment

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

// Test is an experiment that was played as a test.
type Test struct {
	Name    string
	Outcome *Outcome // nil: it could not be played
	Err     error    // why it could not be played
	Took    time.Duration
}

// Passed reports whether it was played, and comes out as its file says.
func (t *Test) Passed() bool { return t.Err == nil && len(t.Outcome.Failed()) == 0 }

// Elements of the JUnit form, as Jenkins and GitLab read it.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitProblem `xml:"failure"`
		Error   *junitProblem `xml:"error"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes tests as JUnit XML: a suite for each test, and a case for each of its claims. The
// time of a suite is that of its first case, as claims are computed together.
func JUnit(w io.Writer, tests []Test) error {
	var all junitSuites
	for i := range tests {
		all.Suites = append(all.Suites, tests[i].junit())
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (t *Test) junit() junitSuite {
	s := junitSuite{Name: t.Name, Time: fmt.Sprintf("%.3f", t.Took.Seconds())}
	if t.Err != nil {
		s.Tests, s.Errors = 1, 1
		s.Cases = []junitCase{{Class: t.Name, Name: "plays", Time: s.Time, Error: problem(t.Err.Error())}}
		return s
	}
	for i, r := range t.Outcome.Rows {
		c := junitCase{Class: t.Name, Name: r.Claim, Time: "0.000", Out: r.Measured}
		if i == 0 {
			c.Time = s.Time
		}
		if r.Problem != "" {
			s.Failures++
			c.Failure = problem(fmt.Sprintf("%s (measured %s)", r.Problem, cmp.Or(r.Measured, "nothing")))
		}
		s.Tests++
		s.Cases = append(s.Cases, c)
	}
	return s
}

// problem has the first line as message, and the whole as text.
func problem(text string) *junitProblem {
	first, _, _ := strings.Cut(text, "\n")
	return &junitProblem{Message: first, Text: text}
}
