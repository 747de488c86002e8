package schedwire

import (
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// EncodeDecisions returns a policy's answer as bytes. The errors are those of
// NewDecisions.
func EncodeDecisions(d *scheduler.Decisions) ([]byte, error) {
	if b, ok := encodeDecisionsDirect(d); ok {
		return b, nil
	}
	return marshal(NewDecisions(d))
}

// DecodeDecisions is the reverse of EncodeDecisions. The errors wrap ErrBadMessage.
func DecodeDecisions(b []byte) (scheduler.Decisions, error) {
	if d, ok := decodeDecisionsDirect(b); ok {
		return d, nil
	}
	return unmarshal(b, &Decisions{}, (*Decisions).Decode)
}

// NewDecisions encodes a policy's answer as a message. An error names a value that package
// scheduler does not define.
func NewDecisions(d *scheduler.Decisions) (*Decisions, error) {
	w := &writer{}
	m := &Decisions{WakeAt: int64(d.WakeAt), Checkpoint: newCheckpoint(d.Checkpoint)}
	m.addApplied(w, d)
	m.addReports(w, d)
	m.Strings = w.table()
	return encoded("decisions", m, w.err)
}

func newCheckpoint(c *scheduler.Checkpoint) *Checkpoint {
	if c == nil {
		return nil
	}
	return &Checkpoint{Version: c.Version, Data: c.Data, Append: c.Append}
}

func (m *Checkpoint) value() *scheduler.Checkpoint {
	if m == nil {
		return nil
	}
	return &scheduler.Checkpoint{Version: m.Version, Data: data(m.Data), Append: m.Append}
}

// addApplied appends the lists that get outcomes.
func (m *Decisions) addApplied(w *writer, d *scheduler.Decisions) {
	for i := range d.Refuse {
		get(&m.Refuse, empty).add(w, &d.Refuse[i])
	}
	for i := range d.Admit {
		get(&m.Admit, empty).add(w, &d.Admit[i])
	}
	if !slices.ContainsFunc(d.Admit, func(v scheduler.Admit) bool { return v.Pool != "" }) && m.Admit != nil {
		m.Admit.Pool = nil
	}
	for i := range d.Preempt {
		get(&m.Preempt, empty).add(w, &d.Preempt[i])
	}
	for i := range d.Resume {
		get(&m.Resume, empty).add(&d.Resume[i])
	}
	for i := range d.Reserve {
		get(&m.Reserve, empty).add(&d.Reserve[i])
	}
	for i := range d.Speculate {
		get(&m.Speculate, empty).add(&d.Speculate[i])
	}
	for _, v := range d.Launch {
		c := get(&m.Launch, empty)
		c.Bundle = append(c.Bundle, uint64(v.Bundle))
		addIDs(&c.Launchers, v.Launchers)
		c.Ahead = addAhead(c.Ahead, len(c.Bundle), v.Ahead)
	}
}

func (c *Refuse) add(w *writer, v *scheduler.Refuse) {
	c.Job, c.Reason = append(c.Job, uint64(v.Job)), append(c.Reason, w.str(v.Reason))
}

func (c *Admit) add(w *writer, v *scheduler.Admit) {
	c.Job, c.Pool = append(c.Job, uint64(v.Job)), append(c.Pool, w.str(v.Pool))
}

func (c *Resume) add(v *scheduler.Resume) { c.Attempt = append(c.Attempt, uint64(v.Attempt)) }

func (c *Reserve) add(v *scheduler.Reserve) {
	c.Bundle, c.Until = append(c.Bundle, uint64(v.Bundle)), append(c.Until, int64(v.Until))
	addIDs(&c.Launchers, v.Launchers)
}

func (c *Speculate) add(v *scheduler.Speculate) { c.Bundle = append(c.Bundle, uint64(v.Bundle)) }

func (c *Preempt) add(w *writer, v *scheduler.Preempt) {
	addIDs(&c.Victims, v.Victims)
	c.Mode = append(c.Mode, PreemptMode(checked(w, "preempt mode", v.Mode, scheduler.PreemptKill, scheduler.PreemptSuspend)))
	c.Grace, c.Beneficiary = append(c.Grace, int64(v.Grace)), append(c.Beneficiary, uint64(v.For))
	c.Bundle = append(c.Bundle, uint64(v.Bundle))
	addIDs(&c.Placement, v.Placement)
}

// addReports appends the lists that are only recorded.
func (m *Decisions) addReports(w *writer, d *scheduler.Decisions) {
	for _, v := range d.Answers {
		c := get(&m.Answers, empty)
		c.Request, c.Status = append(c.Request, v.Request), append(c.Status, int64(v.Status))
		c.ContentType, c.Body = append(c.ContentType, w.str(v.ContentType)), append(c.Body, v.Body)
	}
	for _, v := range d.Settings {
		c := get(&m.Settings, func() *SettingsVerdict { return &SettingsVerdict{Problems: &Problems{}} })
		c.Version = append(c.Version, v.Version)
		c.Problems.add(w, v.Problems)
		c.Abilities, c.ProgressEvery = append(c.Abilities, w.abilities(v.Abilities)), append(c.ProgressEvery, int64(v.ProgressEvery))
	}
	for _, v := range d.Waiting {
		c := get(&m.Waiting, empty)
		c.Job, c.Detail = append(c.Job, uint64(v.Job)), append(c.Detail, w.str(v.Detail))
		c.Reason = append(c.Reason, WaitReason(checked(w, "wait reason", v.Reason, scheduler.WaitNone, scheduler.WaitHeld)))
	}
	for i := range d.Notes {
		get(&m.Notes, empty).add(w, &d.Notes[i])
	}
}

// Decode returns the decisions of a message. The errors wrap ErrBadMessage. Unknown content of a
// later version is an error too.
func (m *Decisions) Decode() (scheduler.Decisions, error) {
	r := newReader(m.GetStrings())
	whole(r, "decisions", m, m.GetStrings(), m.GetRefuse(), m.GetAdmit(),
		m.GetPreempt(), m.GetPreempt().GetVictims(), m.GetPreempt().GetPlacement(),
		m.GetReserve(), m.GetReserve().GetLaunchers(), m.GetSpeculate(), m.GetResume(), m.GetLaunch(), m.GetLaunch().GetLaunchers(), m.GetAnswers(),
		m.GetSettings(), m.GetSettings().GetProblems(), m.GetWaiting(), m.GetNotes(), m.GetCheckpoint())
	d := scheduler.Decisions{
		Refuse: m.GetRefuse().values(r), Admit: m.GetAdmit().values(r), Preempt: m.GetPreempt().values(r),
		Resume: m.GetResume().values(), Reserve: m.GetReserve().values(r), Speculate: m.GetSpeculate().values(), Launch: m.GetLaunch().values(r),
		Answers: m.GetAnswers().values(r), Settings: m.GetSettings().values(r),
		Waiting: m.GetWaiting().values(r), Notes: m.GetNotes().values(r),
		WakeAt: scheduler.Time(m.GetWakeAt()), Checkpoint: m.GetCheckpoint().value(),
	}
	if r.err != nil {
		return scheduler.Decisions{}, r.err
	}
	return d, nil
}

// list makes n values; nil for none, or after an error.
func list[T any](r *reader, n int, value func(i int) T) []T {
	if n == 0 || r.err != nil {
		return nil
	}
	out := make([]T, n)
	for i := range out {
		out[i] = value(i)
	}
	return out
}

func (m *Refuse) values(r *reader) []scheduler.Refuse {
	r.same("refuse", len(m.GetJob()), len(m.GetReason()))
	return list(r, len(m.GetJob()), func(i int) scheduler.Refuse {
		return scheduler.Refuse{Job: scheduler.JobID(m.Job[i]), Reason: r.str(m.Reason[i])}
	})
}

func (m *Admit) values(r *reader) []scheduler.Admit {
	if len(m.GetPool()) > 0 {
		r.same("admit", len(m.GetJob()), len(m.GetPool()))
	}
	return list(r, len(m.GetJob()), func(i int) scheduler.Admit {
		a := scheduler.Admit{Job: scheduler.JobID(m.Job[i])}
		if len(m.Pool) > 0 {
			a.Pool = r.str(m.Pool[i])
		}
		return a
	})
}

func (m *Preempt) values(r *reader) []scheduler.Preempt {
	n := len(m.GetMode())
	r.same("preempt", n, len(m.GetGrace()), len(m.GetBeneficiary()), len(m.GetBundle()))
	victims := readIDs(r, "preempt victims", n, m.GetVictims(), &r.mem.attempts)
	placement := readIDs(r, "preempt placement", n, m.GetPlacement(), &r.mem.launchers)
	return list(r, n, func(i int) scheduler.Preempt {
		return scheduler.Preempt{
			Victims: victims.next(), Grace: time.Duration(m.Grace[i]), For: scheduler.JobID(m.Beneficiary[i]),
			Mode:   scheduler.PreemptMode(known(r, "preempt mode", m.Mode[i], PreemptMode_PREEMPT_MODE_KILL, PreemptMode_PREEMPT_MODE_SUSPEND)),
			Bundle: scheduler.BundleID(m.Bundle[i]), Placement: placement.next(),
		}
	})
}

func (m *Resume) values() []scheduler.Resume {
	return list(&reader{}, len(m.GetAttempt()), func(i int) scheduler.Resume {
		return scheduler.Resume{Attempt: scheduler.AttemptID(m.Attempt[i])}
	})
}

func (m *Reserve) values(r *reader) []scheduler.Reserve {
	n := len(m.GetBundle())
	r.same("reserve", n, len(m.GetUntil()))
	launchers := readIDs(r, "reserve", n, m.GetLaunchers(), &r.mem.launchers)
	return list(r, n, func(i int) scheduler.Reserve {
		return scheduler.Reserve{Bundle: scheduler.BundleID(m.Bundle[i]), Launchers: launchers.next(), Until: scheduler.Time(m.Until[i])}
	})
}

func (m *Speculate) values() []scheduler.Speculate {
	return list(&reader{}, len(m.GetBundle()), func(i int) scheduler.Speculate {
		return scheduler.Speculate{Bundle: scheduler.BundleID(m.Bundle[i])}
	})
}

func (m *Launch) values(r *reader) []scheduler.Launch {
	n := len(m.GetBundle())
	launchers := readIDs(r, "launch", n, m.GetLaunchers(), &r.mem.launchers)
	if len(m.GetAhead()) > 0 {
		r.same("launch ahead", n, len(m.Ahead))
	}
	return list(r, n, func(i int) scheduler.Launch {
		l := scheduler.Launch{Bundle: scheduler.BundleID(m.Bundle[i]), Launchers: launchers.next()}
		if len(m.Ahead) > 0 {
			l.Ahead = m.Ahead[i]
		}
		return l
	})
}

func (m *Answer) values(r *reader) []scheduler.Answer {
	n := len(m.GetRequest())
	r.same("answers", n, len(m.GetStatus()), len(m.GetContentType()), len(m.GetBody()))
	return list(r, n, func(i int) scheduler.Answer {
		return scheduler.Answer{Request: m.Request[i], Status: int(m.Status[i]), ContentType: r.str(m.ContentType[i]), Body: data(m.Body[i])}
	})
}

func (m *SettingsVerdict) values(r *reader) []scheduler.SettingsVerdict {
	n := len(m.GetVersion())
	problems := readProblems(r, "settings", n, m.GetProblems())
	able := len(m.GetAbilities()) > 0 // a policy of an earlier version omits these columns
	if able {
		r.same("settings", n, len(m.Abilities), len(m.GetProgressEvery()))
	}
	return list(r, n, func(i int) scheduler.SettingsVerdict {
		v := scheduler.SettingsVerdict{Version: m.Version[i], Problems: problems.next()}
		if able {
			v.Abilities, v.ProgressEvery = r.abilities("settings", m.Abilities[i]), time.Duration(m.ProgressEvery[i])
		}
		return v
	})
}

func (m *Waiting) values(r *reader) []scheduler.Waiting {
	n := len(m.GetJob())
	r.same("waiting", n, len(m.GetReason()), len(m.GetDetail()))
	return list(r, n, func(i int) scheduler.Waiting {
		return scheduler.Waiting{
			Job: scheduler.JobID(m.Job[i]), Detail: r.str(m.Detail[i]),
			Reason: scheduler.WaitReason(known(r, "wait reason", m.Reason[i], WaitReason_WAIT_REASON_UNSPECIFIED, WaitReason_WAIT_REASON_HELD)),
		}
	})
}

func (m *Notes) values(r *reader) []scheduler.Note {
	n := len(m.GetName())
	r.same("notes", n, len(m.GetBody()))
	return list(r, n, func(i int) scheduler.Note { return m.row(r, i) })
}
