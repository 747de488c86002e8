package main

import (
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

func TestRecordsComeThrough(t *testing.T) {
	for kind := range kinds {
		for _, args := range [][]string{{kind, "10", "0"}, {kind, "10", "200000"}, {kind, "10000", "300"}} {
			d := job.Definition{Name: "channel", Build: build}
			if _, err := jobtest.Run(t.Context(), d, args, jobtest.Options{}); err != nil {
				t.Errorf("%v: %v", args, err)
			}
		}
	}
}

func TestArguments(t *testing.T) {
	for want, args := range map[string][]string{
		"KIND BYTES RECORDS":       {"tcp"},
		`"udp" is no kind`:         {"udp", "10", "1"},
		`bytes of a record: "-1"`:  {"tcp", "-1", "1"},
		`number of records: "few"`: {"tcp", "1", "few"},
	} {
		_, err := job.Build(job.Definition{Name: "channel", Build: build}, args, job.Recorded(nil, nil))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", args, err, want)
		}
	}
}
