package workload

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Assignment gives all jobs of a workload a field that their source lacks, or another value of it.
// ParseAssignment makes one.
type Assignment struct {
	field, rule string
	numbers     []float64
	odds        Odds // of users and pools
}

// PeopleMax bounds the users or pools that are assigned.
const PeopleMax = 1_000_000

// assignmentForms lists what ParseAssignment reads.
const assignmentForms = "users=zipf:COUNT[:SKEW], users=even:COUNT, pools=zipf:COUNT[:SKEW], pools=even:COUNT, " +
	"estimates=exact, estimates=uniform:ERROR, estimates=lognormal:SIGMA, deadlines=factor:LOW[:HIGH], failures=RATE"

// assignments are the bounds of the numbers of each field and rule; the last may be left out.
var assignments = map[string]struct {
	least, most, otherwise []float64
	optional               int
}{
	"users=zipf":          {[]float64{1, 0}, []float64{PeopleMax, 10}, []float64{0, 1}, 1},
	"users=even":          {[]float64{1}, []float64{PeopleMax}, nil, 0},
	"pools=zipf":          {[]float64{1, 0}, []float64{PeopleMax, 10}, []float64{0, 1}, 1},
	"pools=even":          {[]float64{1}, []float64{PeopleMax}, nil, 0},
	"estimates=exact":     {},
	"estimates=uniform":   {[]float64{0}, []float64{1}, nil, 0},
	"estimates=lognormal": {[]float64{0}, []float64{5}, nil, 0},
	"deadlines=factor":    {[]float64{0.001, 0.001}, []float64{1e6, 1e6}, []float64{0, 0}, 1},
	"failures=":           {[]float64{0}, []float64{1}, nil, 0},
}

// ParseAssignment reads an assignment:
//
//	users=zipf:30         users user1 to user30, the k-th with 1/k of the first one's jobs
//	users=zipf:30:1.5     the k-th with 1/k to the 1.5
//	users=even:30         each with about as many jobs
//	pools=zipf:4          likewise pools
//	estimates=exact       each stage's estimate is the mean work of its tasks
//	estimates=uniform:0.5 that, times a number from 0.5 to 1.5
//	estimates=lognormal:1 that, times a number with median 1 whose logarithm has deviation 1
//	deadlines=factor:2    twice the job's ShortestTime after its submission
//	deadlines=factor:2:5  2 to 5 times
//	failures=0.01         1 % of all attempts fail
func ParseAssignment(text string) (a Assignment, err error) {
	field, rule, ok := strings.Cut(text, "=")
	if !ok {
		return a, fmt.Errorf("%.64q is no assignment: write one of %s", text, assignmentForms)
	}
	parts := strings.Split(rule, ":")
	if field != "failures" {
		rule, parts = parts[0], parts[1:]
	} else {
		rule = ""
	}
	bounds, known := assignments[field+"="+rule]
	if !known {
		return a, fmt.Errorf("%.64q is no assignment: write one of %s", text, assignmentForms)
	}
	if len(parts) > len(bounds.least) || len(parts) < len(bounds.least)-bounds.optional {
		return a, fmt.Errorf("%.64q has %d numbers: write one of %s", text, len(parts), assignmentForms)
	}
	a = Assignment{field: field, rule: rule, numbers: append([]float64(nil), bounds.otherwise...)}
	for i, part := range parts {
		n, err := strconv.ParseFloat(part, 64)
		if err != nil || !(n >= bounds.least[i] && n <= bounds.most[i]) {
			return a, fmt.Errorf("%.64q: %.64q is no number from %v to %v", text, part, bounds.least[i], bounds.most[i])
		}
		if i < len(a.numbers) {
			a.numbers[i] = n
		} else {
			a.numbers = append(a.numbers, n)
		}
	}
	return a, a.complete(text)
}

// complete computes what follows from the numbers.
func (a *Assignment) complete(text string) error {
	switch a.field {
	case "users", "pools":
		if a.numbers[0] != math.Trunc(a.numbers[0]) {
			return fmt.Errorf("%.64q: %v is no whole number", text, a.numbers[0])
		}
		skew := 0.0
		if a.rule == "zipf" {
			skew = a.numbers[1]
		}
		a.odds = Zipf(int(a.numbers[0]), skew)
	case "deadlines":
		if a.numbers[1] == 0 {
			a.numbers[1] = a.numbers[0]
		}
		if a.numbers[1] < a.numbers[0] {
			return fmt.Errorf("%.64q: the lower number stands first", text)
		}
	}
	return nil
}

// Purposes of the random streams of assignments.
var assigned = map[string]uint64{"users": 0x61_01, "pools": 0x61_02, "estimates": 0x61_03, "deadlines": 0x61_04}

// Assign gives all jobs the field of an assignment. What a job gets depends on the seed and its
// place in the workload alone, so several assignments do not change each other. A workload that
// passes Check passes it afterwards: estimates and deadlines stop at their bounds.
func (w *Workload) Assign(a Assignment, seed uint64) {
	for i := range w.Jobs {
		a.assign(&w.Jobs[i], NewRand(seed, assigned[a.field], uint64(i)))
	}
}

// assign gives one job its field.
func (a *Assignment) assign(j *Job, r *Rand) {
	switch a.field {
	case "users":
		j.User = fmt.Sprint("user", a.odds.Draw(r)+1)
	case "pools":
		j.Pool = fmt.Sprint("pool", a.odds.Draw(r)+1)
	case "deadlines":
		factor := a.numbers[0] + float64((a.numbers[1]-a.numbers[0])*r.Unit())
		j.Deadline = max(1, times(j.ShortestTime(), factor, SubmitMax))
	}
	for i := range j.Stages {
		s := &j.Stages[i]
		switch a.field {
		case "estimates":
			mean := s.Work() / time.Duration(len(s.Tasks))
			s.Estimate = max(1, times(mean, a.mistake(r), WorkMax))
		case "failures":
			s.FailureRate = a.numbers[0]
		}
	}
}

// mistake is the factor between an estimate and the truth.
func (a *Assignment) mistake(r *Rand) float64 {
	switch a.rule {
	case "uniform":
		return 1 + float64(a.numbers[0]*(float64(2*r.Unit())-1))
	case "lognormal":
		return r.LogNormal(a.numbers[0])
	}
	return 1
}

// times multiplies a time by a factor; the product is at most most.
func times(d time.Duration, factor float64, most time.Duration) time.Duration {
	return time.Duration(min(float64(d)*factor, float64(most)))
}
