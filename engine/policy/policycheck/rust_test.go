package policycheck_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/policytest"
)

// rustLeast is the minor version of Rust 1 that the example needs (rust-version in its Cargo.toml).
// Debian's is older, so that no package is demanded for the tests.
const rustLeast = 88

var rustVersion = regexp.MustCompile(`^cargo 1\.(\d+)\.`)

// rustPolicy builds the example in Rust, and returns its program. The folder build keeps what was
// compiled.
func rustPolicy(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "cargo", "--version").Output()
	if err != nil {
		t.Skipf("the policy in Rust is tested where cargo is: %v", err)
	}
	version := rustVersion.FindSubmatch(out)
	if version == nil {
		t.Fatalf("the version of cargo is %q", out)
	}
	if minor, err := strconv.Atoi(string(version[1])); err != nil || minor < rustLeast {
		t.Skipf("the policy in Rust is tested with Rust 1.%d or later, and this is %q", rustLeast, out)
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(root, "build", "policy-rust")
	cmd := exec.CommandContext(t.Context(), "cargo", "build", "--locked", "--quiet")
	cmd.Dir = filepath.Join(root, "examples", "policy-rust")
	cmd.Env = append(os.Environ(), "CARGO_TARGET_DIR="+target)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cargo build: %v; without a network, cargo needs the crates of examples/policy-rust/Cargo.lock in its cache\n%s", err, out)
	}
	return filepath.Join(target, "debug", "hamadryad-policy-oldest")
}

// rustSeeds is the number of random games: few, since most of the time goes into the build.
const rustSeeds = 12

// TestThePolicyInRustConforms puts the example through the kit, as a process without Go.
func TestThePolicyInRustConforms(t *testing.T) {
	d := drive(t, policy.Options{Path: rustPolicy(t)})
	r := policytest.Check(t.Context(), d, policytest.Options{NoStories: true, Seeds: rustSeeds, Restarts: 1})
	if r.Err() != nil || r.Policy.Name != "oldest" || r.Games != rustSeeds {
		t.Errorf("policy %+v, %d games: %v", r.Policy, r.Games, r.Err())
	}
}
