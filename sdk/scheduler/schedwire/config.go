package schedwire

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Each New function below encodes one value as a message, and the message's Decode is the reverse;
// its errors wrap ErrBadMessage.

// NewConfig encodes a configuration as a message.
func NewConfig(c scheduler.Config) (*Config, error) {
	w := &writer{}
	m := &Config{File: w.str(c.File), Line: int64(c.Line), Text: c.Text}
	for _, f := range c.Files {
		m.FileName, m.FileData = append(m.FileName, w.str(f.Name)), append(m.FileData, f.Data)
	}
	m.Strings = w.table()
	return encoded("configuration", m, w.err)
}

// Decode returns the configuration.
func (m *Config) Decode() (scheduler.Config, error) {
	r := newReader(m.GetStrings())
	c := scheduler.Config{File: r.str(m.GetFile()), Line: int(m.GetLine()), Text: data(m.GetText())}
	r.same("configuration files", len(m.GetFileName()), len(m.GetFileData()))
	c.Files = list(r, len(m.GetFileName()), func(i int) scheduler.ConfigFile {
		return scheduler.ConfigFile{Name: r.str(m.FileName[i]), Data: data(m.FileData[i])}
	})
	return decoded(r, c)
}

// decoded returns a value, or the first error of its message.
func decoded[V any](r *reader, v V) (V, error) {
	if r.err != nil {
		var none V
		return none, r.err
	}
	return v, nil
}

// NewEnvironment encodes an environment as a message.
func NewEnvironment(e scheduler.Environment) (*Environment, error) {
	w := &writer{}
	m := &Environment{
		Heartbeat: int64(e.Heartbeat), Seed: e.Seed, Simulated: e.Simulated, Replayed: e.Replayed, Store: w.str(e.Store), Trace: w.str(e.Trace),
		AnswerBytes: int64(e.Limits.AnswerBytes), CheckpointBytes: int64(e.Limits.CheckpointBytes), Decisions: int64(e.Limits.Decisions),
		GraceMax: int64(e.Limits.GraceMax), RoundDeadline: int64(e.Limits.RoundDeadline),
		SuspendedMax: int64(e.Limits.SuspendedMax), SuspendedPercent: int64(e.Limits.SuspendedPercent), ReservationsMax: int64(e.Limits.ReservationsMax), SpeculationPercent: int64(e.Limits.SpeculationPercent),
		ReserveMax: int64(e.ReserveMax), ProtectFor: int64(e.ProtectFor), SuspendMax: int64(e.SuspendMax), WakeMin: int64(e.WakeMin),
	}
	for _, k := range e.Kinds {
		m.Kind = append(m.Kind, w.str(k))
	}
	m.Strings = w.table()
	return encoded("environment", m, w.err)
}

// Decode returns the environment.
func (m *Environment) Decode() (scheduler.Environment, error) {
	r := newReader(m.GetStrings())
	e := scheduler.Environment{
		Heartbeat: time.Duration(m.GetHeartbeat()), Seed: m.GetSeed(), Simulated: m.GetSimulated(), Replayed: m.GetReplayed(),
		ReserveMax: time.Duration(m.GetReserveMax()), ProtectFor: time.Duration(m.GetProtectFor()), SuspendMax: time.Duration(m.GetSuspendMax()), WakeMin: time.Duration(m.GetWakeMin()),
		Store: r.str(m.GetStore()), Trace: r.str(m.GetTrace()),
		Kinds: list(r, len(m.GetKind()), func(i int) scheduler.SlotKind { return r.str(m.Kind[i]) }),
		Limits: scheduler.Limits{
			AnswerBytes: int(m.GetAnswerBytes()), CheckpointBytes: int(m.GetCheckpointBytes()), Decisions: int(m.GetDecisions()),
			GraceMax: time.Duration(m.GetGraceMax()), RoundDeadline: time.Duration(m.GetRoundDeadline()),
			SuspendedMax: int(m.GetSuspendedMax()), SuspendedPercent: int(m.GetSuspendedPercent()), ReservationsMax: int(m.GetReservationsMax()), SpeculationPercent: int(m.GetSpeculationPercent()),
		},
	}
	return decoded(r, e)
}

// abilitiesKnown has the bit of every ability.
const abilitiesKnown = scheduler.AbilityProgress | scheduler.AbilityResume | scheduler.AbilityAdmission |
	scheduler.AbilityLoggedRequests | scheduler.AbilityCheckpoint | scheduler.AbilityLoad |
	scheduler.AbilityPageHandler | scheduler.AbilityAuthenticator | scheduler.AbilityAdvisoryAdmission | scheduler.AbilityAhead

func (w *writer) abilities(a scheduler.Ability) uint32 {
	if unknown := a &^ abilitiesKnown; unknown != 0 {
		w.fail("unknown abilities %#x", uint32(unknown))
	}
	return uint32(a)
}

func (r *reader) abilities(where string, a uint32) scheduler.Ability {
	if unknown := scheduler.Ability(a) &^ abilitiesKnown; unknown != 0 {
		r.fail(where, "abilities %#x are not known to this version; use a policy built for it", uint32(unknown))
	}
	return scheduler.Ability(a)
}

// NewDescription encodes a description as a message.
func NewDescription(d scheduler.Description) (*Description, error) {
	w := &writer{}
	m := &Description{Name: w.str(d.Name), Version: w.str(d.Version), Abilities: w.abilities(d.Abilities), ProgressEvery: int64(d.ProgressEvery)}
	m.Strings = w.table()
	return encoded("description", m, w.err)
}

// Decode returns the description.
func (m *Description) Decode() (scheduler.Description, error) {
	r := newReader(m.GetStrings())
	whole(r, "description", m, m.GetStrings())
	d := scheduler.Description{
		Name: r.str(m.GetName()), Version: r.str(m.GetVersion()),
		Abilities: r.abilities("description", m.GetAbilities()), ProgressEvery: time.Duration(m.GetProgressEvery()),
	}
	return decoded(r, d)
}

// NewProblemList encodes problems as a message.
func NewProblemList(p scheduler.Problems) (*ProblemList, error) {
	w := &writer{}
	m := &ProblemList{Problems: &Problems{}}
	m.Problems.add(w, p)
	m.Strings = w.table()
	return encoded("problems", m, w.err)
}

// Decode returns the problems, nil if there are none.
func (m *ProblemList) Decode() (scheduler.Problems, error) {
	r := newReader(m.GetStrings())
	rows := readProblems(r, "problems", 1, m.GetProblems())
	if r.err != nil {
		return nil, r.err
	}
	p := scheduler.Problems(rows.next())
	return decoded(r, p)
}

// NewNote encodes a note as a message.
func NewNote(n scheduler.Note) (*Note, error) {
	w := &writer{}
	m := &Note{Name: w.str(n.Name), Body: n.Body}
	m.Strings = w.table()
	return encoded(fmt.Sprintf("note %q", n.Name), m, w.err)
}

// Decode returns the note.
func (m *Note) Decode() (scheduler.Note, error) {
	r := newReader(m.GetStrings())
	return decoded(r, scheduler.Note{Name: r.str(m.GetName()), Body: data(m.GetBody())})
}
