package policycheck_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hamadryad/hamadryad/plugins/fifo"
	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/policies"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// old is a policy as a plug-in with an earlier contract: all that it gets and says goes through that
// contract's descriptors, and events of kinds that it lacks are left out.
type old struct {
	policytest.Driver
	t         *testing.T
	contract  *protoregistry.Files
	kindMost  int32 // the last kind of event that it knows; 0: the contract's last
	forgotten int   // events that were left out
}

// readContract reads the descriptors of an earlier contract (buf build --exclude-source-info).
func readContract(t *testing.T, name string) *protoregistry.Files {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "contracts", name+".binpb"))
	if err != nil {
		t.Fatal(err)
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(data, &set); err != nil {
		t.Fatal(err)
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func (o *old) find(name protoreflect.FullName) protoreflect.Descriptor {
	d, err := o.contract.FindDescriptorByName(name)
	if err != nil {
		o.t.Fatalf("the earlier contract has no %s: %v", name, err)
	}
	return d
}

// passOn makes a message the one that has only fields of the earlier contract.
func passOn[M proto.Message](o *old, m M, err error) M {
	if err != nil {
		o.t.Fatal(err)
	}
	between := dynamicpb.NewMessage(o.find(m.ProtoReflect().Descriptor().FullName()).(protoreflect.MessageDescriptor))
	data, err := proto.Marshal(m)
	if err == nil {
		err = proto.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(data, between)
	}
	if err == nil {
		data, err = proto.Marshal(between)
	}
	passed := m.ProtoReflect().New().Interface().(M)
	if err == nil {
		err = proto.Unmarshal(data, passed)
	}
	if err != nil {
		o.t.Fatal(err)
	}
	return passed
}

// leaveOut leaves events of later kinds out. The next event's time counts from the one before them.
func (o *old) leaveOut(e *schedwire.Events) {
	kinds := o.find("hamadryad.scheduler.v1.EventKind").(protoreflect.EnumDescriptor).Values()
	late := int64(0)
	var kind []schedwire.EventKind
	var at []int64
	for i, k := range e.GetKind() {
		late += e.At[i]
		if kinds.ByNumber(protoreflect.EnumNumber(k)) == nil || o.kindMost != 0 && int32(k) > o.kindMost {
			o.forgotten++
			continue
		}
		kind, at, late = append(kind, k), append(at, late), 0
	}
	if e == nil {
		return
	}
	e.Kind, e.At = kind, at
	e.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		// The columns of kind k are in the message with number k+2.
		if last := protoreflect.FieldNumber(o.kindMost) + 2; o.kindMost != 0 && f.Number() > last {
			e.ProtoReflect().Clear(f)
		}
		return true
	})
}

func (o *old) Start(ctx context.Context, c scheduler.Config, s scheduler.Snapshot, e scheduler.Environment) (d scheduler.Description, err error) {
	m, err := schedwire.NewEnvironment(e)
	environment, err := passOn(o, m, err).Decode()
	if err != nil {
		return d, err
	}
	pages, err := schedwire.NewSnapshot(&s)
	if err != nil {
		return d, err
	}
	var reader schedwire.SnapshotReader
	for _, page := range pages {
		page = passOn(o, page, nil)
		o.leaveOut(page.GetEvents())
		if err := reader.Add(page); err != nil {
			return d, err
		}
	}
	snapshot, err := reader.Snapshot()
	if err != nil {
		return d, err
	}
	return o.Driver.Start(ctx, c, snapshot, environment)
}

func (o *old) AssignTasks(ctx context.Context, r scheduler.Round) (d scheduler.Decisions, err error) {
	m, err := schedwire.NewRound(&r)
	round := passOn(o, m, err)
	o.leaveOut(round.GetEvents())
	told, err := round.Decode()
	if err != nil {
		return d, err
	}
	if d, err = o.Driver.AssignTasks(ctx, told); err != nil {
		return d, err
	}
	answer, err := schedwire.NewDecisions(&d)
	return passOn(o, answer, err).Decode()
}

// TestPlugInsOfEarlierContractsConform plays policies with the last three contracts of this version of
// the protocol, and one that knows fewer kinds of events than any of them. Leaving out is enough for
// each: where it is not, rpc.ProtocolVersion goes up. A contract without countable resources can't
// launch what asks for them, so it plays the stories alone. None of them knows limits of users.
func TestPlugInsOfEarlierContractsConform(t *testing.T) {
	const resources = "2026-11-27-before-claims"
	for _, c := range []struct {
		contract string
		kindMost schedwire.EventKind
	}{
		{contract: "2026-11-26"},
		{contract: "2026-11-27-before-resources"},
		{contract: resources},
		{resources, schedwire.EventKind_EVENT_KIND_LAUNCHER_LOAD},
	} {
		o := &old{Driver: policytest.InProcess(fifo.New), t: t, contract: readContract(t, c.contract), kindMost: int32(c.kindMost)}
		games := policytest.Options{Seeds: 5, Restarts: 5, NoUserLimits: true}
		if c.contract != resources {
			games.Seeds = -1
		}
		r := policytest.Check(t.Context(), o, games)
		if r.Err() != nil {
			t.Errorf("contract %s to kind %d: %v", c.contract, c.kindMost, r.Err())
		}
		if c.kindMost != 0 && o.forgotten == 0 {
			t.Errorf("contract %s to kind %d: no event was left out", c.contract, c.kindMost)
		}
	}
}

// TestSuspensionsFailUnseen plays a policy that suspends, with the contract of before SuspensionFailed. To it
// a victim that its launcher can't suspend is about to be suspended until it ends. A restarted one does not know that.
func TestSuspensionsFailUnseen(t *testing.T) {
	o := &old{Driver: policytest.InProcess(policies.Suspend), t: t, contract: readContract(t, "2026-11-27-before-suspension-failed")}
	if r := policytest.Check(t.Context(), o, policytest.Options{Seeds: 20, Restarts: -1}); r.Err() != nil || o.forgotten == 0 {
		t.Errorf("%d events were left out: %v", o.forgotten, r.Err())
	}
}

// TestLaterEventsAreLeftOut: a plug-in of before reservations and ends of offers gets no events of them, and those behind
// them on time.
func TestLaterEventsAreLeftOut(t *testing.T) {
	o := &old{t: t, contract: readContract(t, "2026-11-27-before-claims")}
	m, err := schedwire.NewRound(&scheduler.Round{Number: 1, Now: 30, Events: []scheduler.Event{
		scheduler.BundleReserved{At: 10, Job: 1, Bundle: 2, Launchers: []scheduler.LauncherID{1}, Until: 40},
		scheduler.SpeculationWithdrawn{At: 15, Job: 1, Bundle: 3},
		scheduler.SuspensionFailed{At: 17, Attempt: 4},
		scheduler.LauncherLost{At: 20, Launcher: 1},
		scheduler.ReservationEnded{At: 20, Job: 1, Bundle: 2, End: scheduler.ReservationUsed},
	}})
	round := passOn(o, m, err)
	o.leaveOut(round.GetEvents())
	got, err := round.Decode()
	if want := []scheduler.Event{scheduler.LauncherLost{At: 20, Launcher: 1}}; err != nil || !slices.Equal(got.Events, want) || o.forgotten != 4 {
		t.Errorf("it gets %v (%v), want %v", got.Events, err, want)
	}
}
