package main

import (
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire/rpc"
)

// laterPlay has the service of the policy in Python take a start and rounds, as bytes,
// and print its answers, and its status behind them.
const laterPlay = `
import importlib.machinery, importlib.util, sys
from hamadryad_policy import Service, rpc, wire
loader = importlib.machinery.SourceFileLoader("fewest", sys.argv[1])
fewest = importlib.util.module_from_spec(importlib.util.spec_from_loader("fewest", loader))
loader.exec_module(fewest)
start, *rounds = map(bytes.fromhex, sys.argv[2:])
service = Service(fewest.Fewest)
service.Start([rpc.StartPart.FromString(start)], None)
for b in rounds:
    print(service.AssignTasks(wire.Round.FromString(b), None).SerializeToString().hex())
print(service.Status(None, None).SerializeToString().hex())
`

// The policy in Python plays with a manager of a later version: it skips and counts the
// events that it does not know, and decides about the others.
func TestThePolicyInPythonServesALaterManager(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	python, dir := guidePython(t, root), t.TempDir()
	stubs := exec.CommandContext(t.Context(), python, "-m", "grpc_tools.protoc", "-I", root, "--python_out="+dir, "--grpc_python_out="+dir,
		"sdk/scheduler/schedwire/scheduler.proto", "sdk/scheduler/schedwire/rpc/policy.proto")
	if out, err := stubs.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	pages, err := schedwire.NewSnapshot(&scheduler.Snapshot{Now: 20, Events: []scheduler.Event{
		scheduler.LauncherJoined{At: 10, Launcher: 1, Host: "a", Slots: []scheduler.SlotCount{{Kind: "kind of tomorrow", Count: 1}}},
		scheduler.JobSubmitted{At: 20, Job: scheduler.Job{ID: 1, Name: "j", Stages: []scheduler.Stage{{Groups: 2, Kind: "kind of tomorrow", Slots: 1}}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	insertUnknown(pages[0].Events)
	start := &rpc.StartPart{Config: &schedwire.Config{}, Environment: &schedwire.Environment{}, Page: pages[0]}
	insertUnknown(start, start.Config, start.Environment, start.Page)
	round, err := schedwire.NewRound(&scheduler.Round{
		Number: 1, Now: 40,
		Events: []scheduler.Event{scheduler.BundleReady{At: 30, Job: 1, Bundle: 7, Groups: []scheduler.Group{{Kind: "kind of tomorrow", Slots: 1}}}},
		Offers: []scheduler.Offer{{Launcher: 1, Free: []scheduler.SlotCount{{Kind: "kind of tomorrow", Count: 1}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	insertUnknown(round, round.Events, round.Events.BundleReady, round.Events.BundleReady.Groups, round.Offers, round.Offers.Free)
	round.Offers.Held = nil // as if an earlier manager had no such column
	args := []string{"-c", laterPlay, filepath.Join(root, "examples/policy-python/hamadryad-policy-fewest")}
	for _, m := range []proto.Message{start, round} {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, hex.EncodeToString(b))
	}
	cmd := exec.CommandContext(t.Context(), python, args...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+dir+":"+filepath.Join(root, "examples/policy-python"), "PYTHONDONTWRITEBYTECODE=1")
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	var answer, status []byte
	if _, err := fmt.Sscanf(string(out), "%x\n%x\n", &answer, &status); err != nil {
		t.Fatalf("it prints %q: %v", out, err)
	}
	d, err := schedwire.DecodeDecisions(answer)
	if err != nil || len(d.Launch) != 1 || d.Launch[0].Bundle != 7 {
		t.Errorf("decisions %+v, error %v; want a launch of bundle 7", d, err)
	}
	var m schedwire.Status
	if err := proto.Unmarshal(status, &m); err != nil {
		t.Fatal(err)
	}
	if s, err := m.Decode(); err != nil || len(s.Facts) != 1 || s.Facts[0].Name != "skipped: events of kind 77" || s.Facts[0].Value != "2" {
		t.Errorf("status %+v, error %v", s, err)
	}
	if n := strings.Count(log.String(), "events of kind 77"); n != 1 {
		t.Errorf("the log tells of them %d times:\n%s", n, log.String())
	}
}

// insertUnknown gives messages a field of a later version, and events one of a kind that
// is not known before all others.
func insertUnknown(messages ...proto.Message) {
	field := protowire.AppendVarint(protowire.AppendTag(nil, 1000, protowire.VarintType), 1)
	for _, m := range messages {
		m.ProtoReflect().SetUnknown(field)
		if events, ok := m.(*schedwire.Events); ok {
			events.Kind = append([]schedwire.EventKind{77}, events.Kind...)
			events.At = append([]int64{0}, events.At...)
		}
	}
}
