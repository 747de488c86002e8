package proof_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/proof"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
)

// proved is what a connection's credentials prove.
type proved struct {
	credentials.CommonAuthInfo
	who auth.Principal
}

func (proved) AuthType() string            { return "test" }
func (p proved) Principal() auth.Principal { return p.who }

var ann = auth.Principal{Kind: auth.User, Name: "ann", Groups: []string{"staff"}, Proof: auth.Socket}

// call makes a call over a connection, nil for one without a proof, and returns the principal that
// the handler sees.
func call(e proof.Edge, method string, by *auth.Principal, m proto.Message) (seen auth.Principal, ok bool, err error) {
	ctx := context.Background()
	if by != nil {
		ctx = peer.NewContext(ctx, &peer.Peer{AuthInfo: proved{who: *by}})
	}
	_, err = e.Unary(ctx, m, &grpc.UnaryServerInfo{FullMethod: method}, func(ctx context.Context, _ any) (any, error) {
		seen, ok = auth.From(ctx)
		return nil, nil
	})
	return seen, ok, err
}

func TestWhatAMessageClaimsIsOverwritten(t *testing.T) {
	forged := &wire.Principal{Name: "root", Proof: auth.Certificate, Role: "admin"}
	want := &wire.Principal{Name: "ann", Proof: auth.Socket}
	for _, m := range []interface {
		proto.Message
		GetPrincipal() *wire.Principal
	}{&wire.JobRef{Principal: forged}, &wire.JobRef{}, &wire.DrainRequest{Principal: forged}} {
		caller, ok, err := call(proof.Edge{Required: true}, "/m", &ann, m)
		if err != nil || !ok || caller.Name != "ann" || !caller.In("staff") || !proto.Equal(m.GetPrincipal(), want) {
			t.Errorf("%T: %+v %v, the message says %v", m, caller, err, m.GetPrincipal())
		}
	}
	nested := &wire.SubmitRequest{Spec: &wire.JobSpec{Name: "job", Principal: forged}}
	if _, _, err := call(proof.Edge{}, "/m", &ann, nested); err != nil || !proto.Equal(nested.Spec.Principal, want) || nested.Spec.Name != "job" {
		t.Errorf("%v, %v", nested, err)
	}
	if forged.Name != "root" {
		t.Error("what the sender holds was changed")
	}
}

// Without access control a caller may claim a name, but neither a proof nor a role.
func TestAClaimStaysUnproven(t *testing.T) {
	m := &wire.SubmitRequest{Spec: &wire.JobSpec{Principal: &wire.Principal{Name: "me", Proof: auth.Certificate, Role: "admin"}}}
	caller, ok, err := call(proof.Edge{}, "/m", nil, m)
	if err != nil || !ok || caller.Name != "me" || caller.Proved() || !proto.Equal(m.Spec.Principal, &wire.Principal{Name: "me", Proof: auth.Unproven}) {
		t.Errorf("%+v %v, the message says %v", caller, err, m.Spec.Principal)
	}
}

func TestNobodyIsLetInByDefault(t *testing.T) {
	e := proof.Edge{Required: true, Open: func(m string) bool { return m == "/open" }, Kind: func(m string) auth.Kind {
		if m == "/launchers" {
			return auth.Launcher
		}
		return auth.User
	}}
	l1 := auth.Principal{Kind: auth.Launcher, Name: "ann", Proof: auth.Certificate}
	for _, c := range []struct {
		method string
		by     *auth.Principal
		want   codes.Code
	}{
		{"/m", nil, codes.Unauthenticated},
		{"/m", &auth.Principal{Kind: auth.User, Proof: auth.Certificate}, codes.Unauthenticated},
		{"/m", &auth.Principal{Kind: auth.User, Name: "ann"}, codes.Unauthenticated},
		{"/m", &ann, codes.OK},
		{"/m", &l1, codes.PermissionDenied},
		{"/launchers", &ann, codes.PermissionDenied},
		{"/launchers", &l1, codes.OK},
		{"/open", nil, codes.OK},
	} {
		if _, _, err := call(e, c.method, c.by, &wire.Empty{}); status.Code(err) != c.want {
			t.Errorf("%s by %+v: %v, want %v", c.method, c.by, err, c.want)
		}
	}
	page := httptest.NewRecorder()
	e.Pages(http.NotFoundHandler()).ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if page.Code != http.StatusUnauthorized {
		t.Errorf("a page without proof: %d", page.Code)
	}
}

// No request type has a principal in a list or a map, where it would not be overwritten.
func TestPrincipalsStandWhereTheyAreOverwritten(t *testing.T) {
	name := (&wire.Principal{}).ProtoReflect().Descriptor().FullName()
	seen := map[protoreflect.FullName]bool{}
	found := 0
	var walk func(d protoreflect.MessageDescriptor, many bool)
	walk = func(d protoreflect.MessageDescriptor, many bool) {
		if d.FullName() == name {
			if found++; many {
				t.Errorf("a list holds %s: say who it is in the message itself", name)
			}
			return
		}
		if seen[d.FullName()] {
			return
		}
		seen[d.FullName()] = true
		for i := range d.Fields().Len() {
			if f := d.Fields().Get(i); f.Message() != nil {
				walk(f.Message(), many || f.IsList() || f.IsMap())
			}
		}
	}
	services := rpc.File_engine_wire_rpc_rpc_proto.Services()
	for i := range services.Len() {
		for methods, j := services.Get(i).Methods(), 0; j < methods.Len(); j++ {
			walk(methods.Get(j).Input(), false)
		}
	}
	if found == 0 {
		t.Error("no request has a principal: is this test looking at the right messages?")
	}
}
