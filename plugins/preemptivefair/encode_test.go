package preemptivefair

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// The bytes of a checkpoint are those of json.Marshal, whatever is in it.
func TestCheckpointsAreJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Uint64Range(0, 1<<62)
		m := memory{Seen: scheduler.JobID(number.Draw(t, "seen")), NoSuspend: rapid.Bool().Draw(t, "no suspend")}
		small := rapid.IntRange(0, 3)
		for range small.Draw(t, "newcomers") {
			n := &newcomer{Job: scheduler.JobID(number.Draw(t, "job")), Refused: small.Draw(t, "refused"), RetryAt: scheduler.Time(small.Draw(t, "retry at"))}
			for range small.Draw(t, "dues") {
				n.Dues = append(n.Dues, due{rapid.String().Draw(t, "kind"), small.Draw(t, "first"), small.Draw(t, "given"), small.Draw(t, "taken") - 1})
			}
			m.Newcomers = append(m.Newcomers, n)
		}
		for range small.Draw(t, "between") {
			m.Between = append(m.Between, between{scheduler.JobID(number.Draw(t, "job")), scheduler.Time(small.Draw(t, "since") - 1)})
		}
		for range small.Draw(t, "times") {
			m.Times = append(m.Times, times{scheduler.BundleID(number.Draw(t, "bundle")), small.Draw(t, "times of it")})
		}
		want, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.encode(); string(got) != string(want) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	})
}
