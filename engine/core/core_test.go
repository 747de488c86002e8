package core

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/wire"
)

func TestSettingsAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		`{"attemptsMax": 0}`:                  "attemptsMax is 0: use 1 or more",
		`{"roundGap": -1}`:                    "roundGap is -1",
		`{"reserveMax": 9223372036854775807}`: "reserveMax is",
		`{"speculationPercent": -1}`:          "speculationPercent is -1",
		`{"kinds": [""]}`:                     "kinds holds an empty name",
		`{"memoryDefault": -1}`:               "memoryDefault is -1",
		`{"attemptsMax": "x"}`:                "cannot unmarshal",
		`{`:                                   "unexpected end",
	} {
		if _, err := ParseSettings([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want something with %q", text, err, want)
		}
	}
	s := DefaultSettings()
	if err := s.Check(); err != nil {
		t.Errorf("the defaults are wrong: %v", err)
	}
	var back Settings
	if err := json.Unmarshal(s.JSON(), &back); err != nil || back.AttemptsMax != s.AttemptsMax || back.RoundGap != s.RoundGap {
		t.Errorf("settings do not survive JSON: %v", err)
	}
}

func TestSettingsThatCannotWorkChangeNothing(t *testing.T) {
	c := New(DefaultSettings())
	out := c.Step(&wire.Batch{Inputs: []*wire.Input{wire.NewInput(&wire.SiteSettings{Json: []byte(`{"lostMax": -3}`)})}})
	if c.Settings().LostMax != DefaultSettings().LostMax || len(out) != 1 {
		t.Errorf("lostMax is %d, actions %v", c.Settings().LostMax, out)
	}
}

// TestOlderCheckpointsAreRead: the oldest checkpoints lack job numbers of earlier data, still older
// ones also losses, identities or loads.
func TestOlderCheckpointsAreRead(t *testing.T) {
	b := benchCluster(t, 5, 4)
	good := b.c.Checkpoint()
	end := len(good) - crc32.Size
	codeIdentities := func(w *checkpoint.Codec, c *Core) { c.state.Cluster.CodeIdentities(w) }
	codeBase := func(w *checkpoint.Codec, c *Core) {
		c.state.IDs.CodeBase(w)
		c.state.Cluster.CodeStarted(w)
		c.state.Cluster.CodeDependencies(w)
		c.state.Cluster.CodeLimits(w)
		codeIdle(w, c)
		c.state.Schedules.Code(w)
	}
	codeLosses := func(w *checkpoint.Codec, c *Core) {
		codeLosses(w, c)
		c.state.Cluster.ReservedIDs.CodeOwners(w)
	}
	for name, part := range map[string][]func(*checkpoint.Codec, *Core){
		"numbers": {codeBase}, "losses": {codeBase, codeLosses}, "identities": {codeBase, codeLosses, codeIdentities}, "loads": {codeBase, codeLosses, codeIdentities, codeLoads},
	} {
		var written bytes.Buffer
		w := checkpoint.NewWriter(&written)
		for _, write := range part {
			write(w, b.c)
		}
		if lost, wrong := w.Close(); lost != nil || wrong != nil {
			t.Fatal(lost, wrong)
		}
		older := slices.Clone(good[:end-(written.Len()-int(checkpoint.LengthMin))])
		c, err := Restore(binary.LittleEndian.AppendUint32(older, crc32.Checksum(older, checkpoint.Checksum)))
		if err != nil {
			t.Fatalf("one from before %s does not come back: %v", name, err)
		}
		c.state.IDs = b.c.state.IDs // unknown in an older checkpoint until a life begins
		copyIdle(t, c, b.c)
		if !slices.Equal(c.Checkpoint(), good) {
			t.Fatalf("one from before %s comes back as another state", name)
		}
	}
}

// copyIdle copies what older checkpoints do not know of idle jobs and launchers.
func copyIdle(t *testing.T, to, from *Core) {
	var b bytes.Buffer
	w := checkpoint.NewWriter(&b)
	codeIdle(w, from)
	if lost, wrong := w.Close(); lost != nil || wrong != nil {
		t.Fatal(lost, wrong)
	}
	r, err := checkpoint.NewReader([][]byte{b.Bytes()})
	if err != nil {
		t.Fatal(err)
	}
	if codeIdle(r, to); r.Err != nil {
		t.Fatal(r.Err)
	}
}

// TestDamagedCheckpointsAreErrors cuts and flips a real checkpoint.
func TestDamagedCheckpointsAreErrors(t *testing.T) {
	b := benchCluster(t, 5, 4)
	b.submit(t, 40)
	b.launchSome(10)
	good := b.c.Checkpoint()
	if c, err := Restore(good); err != nil || !slices.Equal(c.Checkpoint(), good) {
		t.Fatalf("a good checkpoint does not come back: %v", err)
	}
	for n := range len(good) {
		if _, err := Restore(good[:n]); err == nil {
			t.Fatalf("a checkpoint cut to %d of %d bytes was restored", n, len(good))
		}
	}
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 1 << (i % 8)
		if _, err := Restore(bad); err == nil {
			t.Fatalf("a checkpoint with byte %d changed was restored", i)
		}
	}
	if _, err := Restore(append(slices.Clone(good), 0)); err == nil {
		t.Error("bytes left over were not noticed")
	}
}

// TestNilAndEmptyInputsHarmNobody: in a garbled log or a foreign message anything may be missing.
func TestNilAndEmptyInputsHarmNobody(t *testing.T) {
	c := New(DefaultSettings())
	b := &wire.Batch{Inputs: []*wire.Input{
		nil,
		{},
		{What: &wire.Input_Prepare{}},
		{What: &wire.Input_Submit{}},
		{What: &wire.Input_KillJob{}},
		{What: &wire.Input_UpdateJob{}},
		{What: &wire.Input_RetryElements{}},
		{What: &wire.Input_LauncherJoin{}},
		{What: &wire.Input_LauncherLost{}},
		{What: &wire.Input_Report{}},
		{What: &wire.Input_Drain{}},
		{What: &wire.Input_PolicyStart{}},
		{What: &wire.Input_PolicyStarted{}},
		{What: &wire.Input_PolicyAnswer{}},
		{What: &wire.Input_PolicyFailed{}},
		{What: &wire.Input_Settings{}},
		{What: &wire.Input_Note{}},
		{What: &wire.Input_Request{}},
		{What: &wire.Input_Tick{}},
		{What: &wire.Input_ManagerStart{}},
		{What: &wire.Input_Site{}},
		wire.NewInput(&wire.Submit{Job: 1, Spec: &wire.JobSpec{Name: "x", Graph: &wire.Graph{Stages: []*wire.Stage{nil}}}}),
	}}
	c.Step(b)
	c.Step(nil)
	if err := c.Check(); err != nil {
		t.Error(err)
	}
}
