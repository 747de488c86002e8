package streaming

import (
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// A command finds settings in its environment by both names, and never the signature of its job.
func TestEnvironmentHoldsNoSignature(t *testing.T) {
	j, err := Parse([]string{"-input", "in", "-output", "out", "-Dmapred.job.timestamp=5", "-Dmapred.job.signature=c2ln", "-Dmapreduce.job.queue.name=ann"})
	if err != nil {
		t.Fatal(err)
	}
	env := strings.Join(j.environment(job.Info{}, nil), " ")
	for _, want := range []string{"mapred_job_queue_name=ann", "mapreduce_job_queuename=ann"} {
		if !strings.Contains(env, want) {
			t.Errorf("no %s in %s", want, env)
		}
	}
	if strings.Contains(env, "signature") || strings.Contains(env, "timestamp") {
		t.Errorf("the signature is in %s", env)
	}
}
