package show

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// commands are texts that a terminal obeys, that reverse what follows, or that are no text.
const commands = "a\x1b[31m\x1b]0;title\x07b\r\x9b2J\u202ec\u009bd"

// Whatever text of a message a terminal could obey, in any field that it has, is printed so
// that it does not.
func TestNoTextSteersATerminal(t *testing.T) {
	for name, print := range map[string]func(*Printer) error{
		"status": func(p *Printer) error {
			s := filled(&wire.JobStatus{})
			p.Success(s)
			p.End(s)
			p.Result(s)
			return p.Status(s, true)
		},
		"jobs":      func(p *Printer) error { return p.Jobs([]*wire.JobSummary{filled(&wire.JobSummary{})}, "") },
		"launchers": func(p *Printer) error { return p.Launchers([]*wire.LauncherStatus{filled(&wire.LauncherStatus{})}) },
		"policy":    func(p *Printer) error { return p.Policy(filled(&wire.PolicyReply{})) },
		"settings":  func(p *Printer) error { return p.Settings(filled(&wire.SettingsReply{}), true) },
		"audit":     func(p *Printer) error { return p.Audit(filled(&wire.AuditReply{}), true) },
		"progress": func(p *Printer) error {
			s := filled(&wire.JobStatus{})
			d := progress.New(p.Errors, commands)
			d.Update(s)
			d.Note(commands)
			d.Close()
			return nil
		},
	} {
		var out strings.Builder
		p := &Printer{Out: progress.Safe(&out), Errors: &out, Format: "table"}
		if err := print(p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		text := out.String()
		if !strings.Contains(text, "31m") {
			t.Errorf("%s prints nothing of what it was given: %q", name, text)
		}
		bad := func(r rune) bool { return r != '\n' && (!unicode.IsPrint(r) || r == utf8.RuneError) }
		if i := strings.IndexFunc(text, bad); i >= 0 {
			t.Errorf("%s prints %q", name, text[max(0, i-40):min(len(text), i+40)])
		}
	}
}

// filled sets each text of a message, and of those in it, to commands. A list gets one
// element.
func filled[M proto.Message](m M) M {
	fill(m.ProtoReflect(), 0)
	return m
}

func fill(m protoreflect.Message, depth int) {
	const deepest = 6
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch {
		case f.IsMap():
		case f.IsList() && f.Kind() == protoreflect.StringKind:
			m.Mutable(f).List().Append(protoreflect.ValueOfString(commands))
		case f.Kind() == protoreflect.StringKind && f.ContainingOneof() == nil:
			m.Set(f, protoreflect.ValueOfString(commands))
		case f.Kind() == protoreflect.MessageKind && f.ContainingOneof() == nil && depth < deepest:
			if f.IsList() {
				fill(m.Mutable(f).List().AppendMutable().Message(), depth+1)
			} else {
				fill(m.Mutable(f).Message(), depth+1)
			}
		}
	}
}
