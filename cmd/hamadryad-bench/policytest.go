package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Figures that the project promises for the tests of a policy.
const (
	testDays  = 20
	testsTake = time.Minute
)

// testPolicies are the policies of the tests, in turn.
var testPolicies = []string{"fair", "hfsp", "preemptive-fair", "dynamic-priority", "drf", "fifo"}

// policyTests measures `hamadryad policy test` on a folder as an author of a policy would have it:
// jobs of a trace, half-days of teams and recorded days, each with figures and recorded decisions.
func policyTests(ctx context.Context, b *bench) error {
	folder, err := os.MkdirTemp("", "hamadryad-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := writeTests(folder); err != nil {
		return err
	}
	hamadryad := filepath.Join(b.bin, "hamadryad")
	if _, err := program(ctx, false, hamadryad, "policy", "test", "--record", folder); err != nil {
		return err
	}
	var ours []usage
	for range b.runs {
		u, err := program(ctx, false, hamadryad, "policy", "test", folder)
		if err != nil {
			return err
		}
		ours = append(ours, u)
	}
	stated := usage{took: testsTake, cpu: testsTake}
	return b.out.addTimes(fmt.Sprintf("policy-test-%d-days", testDays), ours, []usage{stated}, "stated, on two idle processors")
}

// writeTests writes the tests. Each fifth one plays what the test four before it recorded.
func writeTests(folder string) error {
	trace, err := filepath.Abs(filepath.Join("laboratory", "traces", "fb2009-100.jsonl.gz"))
	if err != nil {
		return err
	}
	for i := range testDays {
		policy := testPolicies[i%len(testPolicies)]
		log, run, played := fmt.Sprintf("decisions-%02d", i), ", run: mine", fmt.Sprintf("workload: {file: %s}\n%s", trace, "cluster: {launchers: [{count: 100, slots: {map: 4, reduce: 2}}]}\n")
		switch i % 5 {
		case 1, 2, 3:
			played = fmt.Sprintf(teams, i+1)
		case 4:
			policy = testPolicies[(i-3)%len(testPolicies)]
			log, run = fmt.Sprintf("decisions-%02d", i-3), ""
			played = fmt.Sprintf("workload: {log: %s}\n", log)
		}
		text := fmt.Sprintf("title: day %d under %s\n%spolicies: [{name: mine, policy: %s}]\n%sdecisions: [{log: %s%s}]\n", i, policy, played, policy, testFigures, log, run)
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("day-%02d.yaml", i)), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// teams is a workload of four teams with a seed.
var teams = strings.TrimPrefix(`
workload:
  generate:
    seed: %d
    jobs: 300
    arrivals: {gap: 10s}
    pools: {count: 4}
    classes:
    - {name: small, share: 9, maps: {kind: fixed, value: 10}, mapSeconds: {kind: fixed, value: 20}}
    - {name: large, share: 1, maps: {kind: fixed, value: 200}, mapSeconds: {kind: fixed, value: 30}}
cluster: {launchers: [{count: 20, slots: {map: 4}}]}
`, "\n")

// testFigures are what each test expects.
const testFigures = `figures:
- {name: mean, of: time, policy: mine}
- {name: starved, of: starved, policy: mine}
- {name: waste, of: wasted, policy: mine}
claims:
- {claim: no job is without a slot for a day, figures: [mean, starved, waste], expected: [{figure: starved, below: 86400}]}
`
