package wire

import (
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Each kind of input has a constructor, and holds its message.
func TestEachInputHasAConstructor(t *testing.T) {
	made := map[protoreflect.Name]bool{}
	for _, in := range []*Input{
		NewInput(&Prepare{}), NewInput(&Submit{}), NewInput(&KillJob{}), NewInput(&UpdateJob{}), NewInput(&LauncherJoin{}), NewInput(&LauncherLost{}),
		NewReport(1, &Report{}), NewInput(&DrainLauncher{}), NewInput(&PolicyStart{}), NewInput(&PolicyStarted{}), NewInput(&PolicyAnswer{}),
		NewInput(&PolicyFailed{}), NewInput(&SettingsChange{}), NewInput(&Note{}), NewInput(&PolicyRequest{}), NewInput(&ManagerStart{}),
		NewInput(&SiteSettings{}), NewInput(&RetryElements{}), NewInput(&AddSchedule{}), NewInput(&ChangeSchedule{}),
		NewInput(&ScheduleDue{}), NewInput(&TakeRun{}), NewInput(&EndRun{}), Tick(),
	} {
		m := in.ProtoReflect()
		made[m.WhichOneof(m.Descriptor().Oneofs().ByName("what")).Name()] = true
	}
	kinds := (&Input{}).ProtoReflect().Descriptor().Oneofs().ByName("what").Fields()
	for i := range kinds.Len() {
		if name := kinds.Get(i).Name(); !made[name] {
			t.Errorf("%s is made by no constructor: add it to NewInput, and here", name)
		}
	}
}
