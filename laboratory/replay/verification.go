package replay

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Verification is the result of comparing a policy with a log.
type Verification struct {
	Extent Extent
	// Left are the files that were left out, with the reason.
	Left []string `json:",omitempty"`
	// Managers is the number of starts of the manager, and Lives are the starts of the policy, in
	// order.
	Managers int
	Lives    []*Life
	// Unknown counts rounds of a policy whose start is no longer in the log: its state is unknown.
	Unknown int
	// Differences are the first differences.
	Differences []Difference `json:",omitempty"`
}

// Life is one generation of the policy.
type Life struct {
	Generation uint64
	Policy     string // name in the configuration
	// Said is the recorded name and version of the policy, and Asked that of the policy asked in
	// its place; "": none was.
	Said, Asked string
	// SettingsKnown reports whether the log has the settings of its start.
	SettingsKnown bool
	Fallback      bool
	// Rounds is the number of compared rounds; Different of them had another answer.
	Rounds, Different int
	// Unanswered are rounds that the policy failed, or never answered. NotAsked are rounds after
	// the asked policy failed; Broke is the reason.
	Unanswered, NotAsked int
	Broke                string `json:",omitempty"`
}

// Difference is a round in which a policy decides otherwise.
type Difference struct {
	Policy     string
	Generation uint64
	Round      uint64
	At         scheduler.Time
	// Events describe the first events of the round, and Words the decisions that differ.
	Events []string `json:",omitempty"`
	Words  []string
}

// Sum is the sum over all generations.
func (v *Verification) Sum() (sum Life) {
	for _, l := range v.Lives {
		sum.Rounds += l.Rounds
		sum.Different += l.Different
		sum.Unanswered += l.Unanswered
		sum.NotAsked += l.NotAsked
	}
	return sum
}

// Same reports whether no answer differed, and no policy failed that did not fail then.
func (v *Verification) Same() bool {
	for _, l := range v.Lives {
		if l.Different > 0 || l.Broke != "" {
			return false
		}
	}
	return true
}

// JSON writes all fields.
func (v *Verification) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Text writes a report for people.
func (v *Verification) Text(w io.Writer) error {
	var b strings.Builder
	sum, x := v.Sum(), &v.Extent
	fmt.Fprintf(&b, "%d rounds compared, %d of them differ\n", sum.Rounds, sum.Different)
	fmt.Fprintf(&b, "log: %d records in %d files, from %s to %s; the manager started %d times, a policy %d times\n", x.Records, x.Files, when(x.From), when(x.To), v.Managers, len(v.Lives))
	for _, l := range v.Lives {
		l.text(&b)
	}
	for _, n := range []struct {
		n    int
		what string
	}{
		{sum.Unanswered, "rounds that the policy failed or never answered, and that nothing can be held against"},
		{sum.NotAsked, "rounds that were not asked, as the policy could not go on"},
		{v.Unknown, "rounds of a policy whose start is in no file of the log any more, and that nobody can repeat"},
		{x.Gaps, "times files between two others are missing"},
	} {
		if n.n > 0 {
			fmt.Fprintf(&b, "%d %s\n", n.n, n.what)
		}
	}
	if x.First > 1 {
		fmt.Fprintf(&b, "the log begins with record %d: what was before it is not looked at\n", x.First)
	}
	for _, left := range v.Left {
		fmt.Fprintf(&b, "left out: %s\n", left)
	}
	v.differences(&b, sum.Different)
	_, err := io.WriteString(w, b.String())
	return err
}

func (l *Life) text(b *strings.Builder) {
	fmt.Fprintf(b, "  %s, generation %d: %d rounds, %d differ", l.Policy, l.Generation, l.Rounds, l.Different)
	if l.Fallback {
		b.WriteString("; it was the fallback for one that failed")
	}
	if l.Asked != "" && l.Asked != l.Said {
		fmt.Fprintf(b, "; it called itself %q, who was asked %q", l.Said, l.Asked)
	}
	if !l.SettingsKnown {
		b.WriteString("; the log does not say with which settings it was started")
	}
	if l.Broke != "" {
		b.WriteString("; " + l.Broke)
	}
	b.WriteString("\n")
}

func (v *Verification) differences(b *strings.Builder, all int) {
	for _, d := range v.Differences {
		fmt.Fprintf(b, "round %d of %s (%s, generation %d):\n", d.Round, when(d.At), d.Policy, d.Generation)
		for _, e := range d.Events {
			fmt.Fprintf(b, "  event %s\n", e)
		}
		for _, w := range d.Words {
			fmt.Fprintf(b, "  %s\n", w)
		}
	}
	if more := all - len(v.Differences); more > 0 {
		fmt.Fprintf(b, "and %d more rounds that differ\n", more)
	}
}

// when is a time for people.
func when(t scheduler.Time) string {
	return time.Unix(0, int64(t)).UTC().Format("2006-01-02 15:04:05.000")
}
