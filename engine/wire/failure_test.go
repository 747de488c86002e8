package wire

import "testing"

func TestFailureNamesWhereAndWhy(t *testing.T) {
	f := &Failure{Message: "boom", Stage: "map", Index: 3, Record: "/in:12", Stack: "main.f\n\tmain.go:1\n"}
	want := "stage map, node 3: boom\n  at record: /in:12\n  main.f\n  \tmain.go:1"
	if got := f.Text(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if (*Failure)(nil).Text() != "" || (&Failure{Stage: "map"}).Text() != "" {
		t.Error("a failure without a message says something")
	}
}
