package proof

import (
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// setPrincipal makes every principal in a message that of the caller, and adds it where the
// message leaves it out. A caller who proved nothing keeps the name that the message
// claims: that one is returned.
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

// single tells a field that holds one message. Lists and maps claim nothing: a test walks
// all requests for that.
func single(f protoreflect.FieldDescriptor) bool {
	return f.Message() != nil && !f.IsList() && !f.IsMap()
}

// known remembers which kinds of message have a principal in them, by name.
var known sync.Map

// claims tells whether a kind of message is a principal, or has one in it. So most
// messages of a stream are not looked into.
func claims(d protoreflect.MessageDescriptor) bool {
	if has, ok := known.Load(d.FullName()); ok {
		return has.(bool)
	}
	has := leads(d, map[protoreflect.FullName]bool{})
	known.Store(d.FullName(), has)
	return has
}

// leads looks for a principal below a kind of message, each kind once.
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
