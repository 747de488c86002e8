package scheduler

import "testing"

// What ids print is what is read again, and nothing else is: a bare number could mean both.
func TestIDsSayWhatTheyAre(t *testing.T) {
	for _, n := range []uint64{1, 12, 1<<64 - 1} {
		if j, err := ParseJobID(JobID(n).String()); err != nil || j != JobID(n) {
			t.Errorf("%v: %v", j, err)
		}
		if a, err := ParseAttemptID(AttemptID(n).String()); err != nil || a != AttemptID(n) {
			t.Errorf("%v: %v", a, err)
		}
	}
	if b := BundleID(7).String(); b != "bundle-7" {
		t.Errorf("a bundle is shown as %q", b)
	}
	for _, s := range []string{"", "12", "0", "job-", "job-0", "job-012", "job-+1", "job-18446744073709551616", "job-1 ", "Job-1", "attempt-", "attempt-0", "attempt-x"} {
		if j, err := ParseJobID(s); err == nil {
			t.Errorf("%q is %v", s, j)
		}
		if a, err := ParseAttemptID(s); err == nil {
			t.Errorf("%q is %v", s, a)
		}
	}
	if _, err := ParseJobID("attempt-3"); err == nil {
		t.Error("an attempt is read as a job")
	}
	if _, err := ParseAttemptID("job-3"); err == nil {
		t.Error("a job is read as an attempt")
	}
}
