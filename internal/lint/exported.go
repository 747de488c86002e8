package lint

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// Exported returns the exported names of a package, one a line, in order: constants, functions,
// types with their fields and methods, variables. A line begins with the path of the package and
// has the signature, so a changed line is a change for importers of the package. Names in generated
// files of protocol buffers are left out: their contract is the .proto file.
func Exported(pkg *types.Package, path string, fset *token.FileSet) []string {
	l := listing{pkg: pkg, path: path, fset: fset}
	for _, name := range pkg.Scope().Names() {
		if o := pkg.Scope().Lookup(name); o.Exported() && !l.generated(o) {
			l.object(o)
		}
	}
	slices.Sort(l.lines)
	return l.lines
}

// listing collects the lines of one package.
type listing struct {
	pkg   *types.Package
	path  string
	fset  *token.FileSet
	lines []string
}

func (l *listing) generated(o types.Object) bool {
	return strings.HasSuffix(l.fset.Position(o.Pos()).Filename, ".pb.go")
}

func (l *listing) add(format string, args ...any) {
	l.lines = append(l.lines, l.path+", "+fmt.Sprintf(format, args...))
}

// typed returns a type as written in the source, with package names before other packages' names. A
// type of the engine gets its path, which TestExportedNames refuses.
func (l *listing) typed(t types.Type) string {
	return types.TypeString(t, l.qualified)
}

func (l *listing) qualified(p *types.Package) string {
	_, engine, found := strings.Cut(p.Path(), "/engine/")
	switch {
	case p == l.pkg:
		return ""
	case found:
		return "engine/" + engine
	}
	return p.Name()
}

// signature writes parameters and results without the word func.
func (l *listing) signature(f *types.Func) string {
	return strings.TrimPrefix(l.typed(f.Type()), "func")
}

func (l *listing) object(o types.Object) {
	switch o := o.(type) {
	case *types.Const:
		l.add("const %s %s = %s", o.Name(), l.typed(o.Type()), o.Val().ExactString())
	case *types.Func:
		l.add("func %s%s", o.Name(), l.signature(o))
	case *types.Var:
		l.add("var %s %s", o.Name(), l.typed(o.Type()))
	case *types.TypeName:
		l.typeName(o)
	}
}

func (l *listing) typeName(o *types.TypeName) {
	named, ok := o.Type().(*types.Named)
	if o.IsAlias() || !ok {
		l.add("type %s = %s", o.Name(), l.typed(types.Unalias(o.Type())))
		return
	}
	name := o.Name() + l.parameters(named)
	switch u := named.Underlying().(type) {
	case *types.Struct:
		l.add("type %s struct", name)
		for f := range u.Fields() {
			if f.Exported() {
				l.add("type %s struct, %s %s", name, f.Name(), l.typed(f.Type()))
			}
		}
	case *types.Interface:
		l.interfaceType(name, u)
		return
	default:
		l.add("type %s %s", name, l.typed(u))
	}
	l.methods(named)
}

// interfaceType adds a line for each method. Only its own package implements an interface with an
// unexported method, so a further method there breaks nobody.
func (l *listing) interfaceType(name string, u *types.Interface) {
	l.add("type %s interface", name)
	for m := range u.Methods() {
		if m.Exported() {
			l.add("type %s interface, %s%s", name, m.Name(), l.signature(m))
		} else {
			l.add("type %s interface, unexported methods", name)
		}
	}
}

// methods lists the methods of the type and of its pointer, with those of embedded types.
func (l *listing) methods(named *types.Named) {
	values := types.NewMethodSet(named)
	for s := range types.NewMethodSet(types.NewPointer(named)).Methods() {
		m, ok := s.Obj().(*types.Func)
		if !ok || !m.Exported() || l.generated(m) {
			continue
		}
		receiver := named.Obj().Name()
		if values.Lookup(m.Pkg(), m.Name()) == nil {
			receiver = "*" + receiver
		}
		l.add("method (%s) %s%s", receiver, m.Name(), l.signature(m))
	}
}

// parameters writes the type parameters of a generic type, such as [K comparable, V any].
func (l *listing) parameters(named *types.Named) string {
	var all []string
	for p := range named.TypeParams().TypeParams() {
		all = append(all, p.Obj().Name()+" "+l.typed(p.Constraint()))
	}
	if len(all) == 0 {
		return ""
	}
	return "[" + strings.Join(all, ", ") + "]"
}
