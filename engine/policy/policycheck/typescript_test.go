package policycheck_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/policytest"
)

// typeScriptPolicy builds the example in TypeScript in a folder of the test, and returns its program.
func typeScriptPolicy(t *testing.T) string {
	t.Helper()
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("the policy in TypeScript can't be tested: install Node.js 18.17 or later with npm: %v", err)
		}
	}
	const example = "examples/policy-typescript"
	root, dir := "../../..", t.TempDir()
	for _, name := range []string{
		example + "/package.json", example + "/package-lock.json", example + "/tsconfig.json", example + "/hamadryad-policy-turns",
		example + "/src/columns.ts", example + "/src/policy.ts", example + "/src/serve.ts", example + "/src/users.ts",
		"sdk/scheduler/schedwire/scheduler.proto", "sdk/scheduler/schedwire/rpc/policy.proto",
	} {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, data, 0o755); err != nil { //nolint:gosec // one of them is a program
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"}, {"run", "build"}} {
		cmd := exec.CommandContext(t.Context(), "npm", args...)
		cmd.Dir = filepath.Join(dir, example)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("npm %v: %v; without a network, npm needs the packages of %s/package-lock.json in its cache\n%s", args, err, example, out)
		}
	}
	return filepath.Join(dir, example, "hamadryad-policy-turns")
}

// TestThePolicyInTypeScriptConforms puts the example through the kit, as a process without Go.
func TestThePolicyInTypeScriptConforms(t *testing.T) {
	d := drive(t, policy.Options{Path: typeScriptPolicy(t)})
	r := policytest.Check(t.Context(), d, policytest.Options{NoStories: true, Seeds: 3, Restarts: 2})
	if r.Err() != nil || r.Policy.Name != "turns" {
		t.Errorf("policy %+v: %v", r.Policy, r.Err())
	}
}
