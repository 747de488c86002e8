package proof

import (
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// setPrincipal overwrites every principal in a message with the caller, and adds it where the
// message has none. An unproven caller keeps the name that the message claims; the result is that
// principal.
func setPrincipal(m proto.Message, caller auth.Principal) auth.Principal {
	r := m.ProtoReflect()
	if !claims(r.Descriptor()) {
		return caller
	}
	if !caller.Proved() {
		caller.Name = claimed(r)
	}
	overwrite(r, &wire.Principal{Name: caller.Name, Proof: caller.Proof})
	return caller
}

// principal describes wire.Principal.
var principal = (*wire.Principal)(nil).ProtoReflect().Descriptor().FullName()

func overwrite(m protoreflect.Message, who *wire.Principal) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		switch f := fields.Get(i); {
		case !single(f) || !claims(f.Message()):
		case f.Message().FullName() == principal:
			m.Set(f, protoreflect.ValueOfMessage(proto.CloneOf(who).ProtoReflect()))
		case m.Has(f):
			overwrite(m.Mutable(f).Message(), who)
		}
	}
}

// claimed is the first name that a message claims.
func claimed(m protoreflect.Message) string {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if !single(f) || !claims(f.Message()) || !m.Has(f) {
			continue
		}
		if p, ok := m.Get(f).Message().Interface().(*wire.Principal); ok {
			return p.GetName()
		}
		if name := claimed(m.Get(f).Message()); name != "" {
			return name
		}
	}
	return ""
}

// single reports whether a field holds one message. Lists and maps hold no principals: a test
// checks that for all requests.
func single(f protoreflect.FieldDescriptor) bool {
	return f.Message() != nil && !f.IsList() && !f.IsMap()
}

// known remembers which message types contain a principal, by name.
var known sync.Map

// claims reports whether a message type is a principal or contains one. So most messages of a
// stream are not searched.
func claims(d protoreflect.MessageDescriptor) bool {
	if has, ok := known.Load(d.FullName()); ok {
		return has.(bool)
	}
	has := leads(d, map[protoreflect.FullName]bool{})
	known.Store(d.FullName(), has)
	return has
}

// leads searches for a principal below a message type, each type once.
func leads(d protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) bool {
	if d.FullName() == principal {
		return true
	}
	if seen[d.FullName()] {
		return false
	}
	seen[d.FullName()] = true
	fields := d.Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); single(f) && leads(f.Message(), seen) {
			return true
		}
	}
	return false
}
