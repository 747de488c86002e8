package replay

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// differences describes the differences of two answers: the first of each kind of decision.
func differences(recorded, answered *scheduler.Decisions) (words []string) {
	words = append(words, differ("refusals", recorded.Refuse, answered.Refuse, func(r scheduler.Refuse) string { return fmt.Sprintf("refuse %v: %s", r.Job, r.Reason) })...)
	words = append(words, differ("admissions", recorded.Admit, answered.Admit, func(a scheduler.Admit) string { return fmt.Sprintf("admit %v", a.Job) })...)
	words = append(words, differ("preemptions", recorded.Preempt, answered.Preempt, preemption)...)
	words = append(words, differ("resumptions", recorded.Resume, answered.Resume, func(r scheduler.Resume) string { return fmt.Sprintf("resume attempt %d", r.Attempt) })...)
	words = append(words, differ("reservations", recorded.Reserve, answered.Reserve, func(x scheduler.Reserve) string {
		return fmt.Sprintf("reserve %s for %v until %s", launchers(x.Launchers), x.Bundle, wish(x.Until))
	})...)
	words = append(words, differ("requests for second attempts", recorded.Speculate, answered.Speculate, func(x scheduler.Speculate) string {
		return fmt.Sprintf("speculate on %v", x.Bundle)
	})...)
	words = append(words, differ("launches", recorded.Launch, answered.Launch, func(l scheduler.Launch) string {
		return fmt.Sprintf("launch %v on %s", l.Bundle, launchers(l.Launchers))
	})...)
	words = append(words, differ("answers", recorded.Answers, answered.Answers, func(a scheduler.Answer) string {
		return fmt.Sprintf("answer request %d with status %d and %d bytes", a.Request, a.Status, len(a.Body))
	})...)
	words = append(words, differ("verdicts on settings", recorded.Settings, answered.Settings, verdict)...)
	words = append(words, differ("reasons to wait", recorded.Waiting, answered.Waiting, func(w scheduler.Waiting) string {
		return fmt.Sprintf("%v %v %s", w.Job, w.Reason, w.Detail)
	})...)
	words = append(words, differ("notes", recorded.Notes, answered.Notes, func(n scheduler.Note) string {
		return fmt.Sprintf("note %s of %d bytes%s", n.Name, len(n.Body), sum(n.Body))
	})...)
	if recorded.WakeAt != answered.WakeAt {
		words = append(words, fmt.Sprintf("to be woken: recorded %s, answered %s", wish(recorded.WakeAt), wish(answered.WakeAt)))
	}
	if !reflect.DeepEqual(recorded.Checkpoint, answered.Checkpoint) {
		words = append(words, fmt.Sprintf("checkpoint: recorded %s, answered %s%s", kept(recorded.Checkpoint), kept(answered.Checkpoint), apart(recorded.Checkpoint, answered.Checkpoint)))
	}
	return words
}

// differ describes where two lists of decisions diverge; none: nowhere.
func differ[D any](what string, recorded, answered []D, say func(D) string) []string {
	for i := range max(len(recorded), len(answered)) {
		then, now := "nothing", "nothing"
		if i < len(recorded) {
			then = say(recorded[i])
		}
		if i < len(answered) {
			now = say(answered[i])
		}
		if i < len(recorded) && i < len(answered) && reflect.DeepEqual(recorded[i], answered[i]) {
			continue
		}
		return []string{fmt.Sprintf("%s: recorded %d, answered %d; the first that differs is number %d: recorded %s, answered %s",
			what, len(recorded), len(answered), i+1, printable(then), printable(now))}
	}
	return nil
}

func preemption(p scheduler.Preempt) string {
	victims := make([]string, len(p.Victims))
	for i, v := range p.Victims {
		victims[i] = fmt.Sprint(v)
	}
	text := fmt.Sprintf("%v of attempts %s for %v", p.Mode, strings.Join(victims, ", "), p.For)
	if p.Bundle != 0 {
		text += fmt.Sprintf(", %v", p.Bundle)
	}
	if len(p.Placement) > 0 {
		text += " on " + launchers(p.Placement)
	}
	if p.Grace > 0 {
		text += fmt.Sprintf(", after %v", p.Grace)
	}
	return text
}

func verdict(v scheduler.SettingsVerdict) string {
	if len(v.Problems) == 0 {
		return fmt.Sprintf("version %d is taken over", v.Version)
	}
	return fmt.Sprintf("version %d is rejected: %v", v.Version, scheduler.Problems(v.Problems))
}

func launchers(list []scheduler.LauncherID) string {
	names := make([]string, len(list))
	for i, l := range list {
		names[i] = fmt.Sprint("launcher ", l)
	}
	return strings.Join(names, ", ")
}

func wish(at scheduler.Time) string {
	if at == 0 {
		return "not"
	}
	return "at " + when(at)
}

func kept(k *scheduler.Checkpoint) string {
	switch {
	case k == nil:
		return "none"
	case k.Append:
		return fmt.Sprintf("%d bytes to be appended, version %d", len(k.Data), k.Version)
	}
	return fmt.Sprintf("%d bytes, version %d", len(k.Data), k.Version)
}

// apart describes where two existing checkpoints diverge.
func apart(a, b *scheduler.Checkpoint) string {
	if a == nil || b == nil || bytes.Equal(a.Data, b.Data) {
		return ""
	}
	at := 0
	for at < min(len(a.Data), len(b.Data)) && a.Data[at] == b.Data[at] {
		at++
	}
	return fmt.Sprintf("; byte %d is the first that differs", at)
}

// sum distinguishes data of equal length.
func sum(b []byte) string {
	const shown = 60
	if len(b) == 0 {
		return ""
	}
	return ": " + string(b[:min(len(b), shown)])
}

// wordsMax bounds the shown text of one decision.
const wordsMax = 300

// printable is a policy's text in one line of bounded length.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return '.'
		}
		return r
	}, s)
	if r := []rune(s); len(r) > wordsMax {
		return string(r[:wordsMax]) + " ... (cut)"
	}
	return s
}
