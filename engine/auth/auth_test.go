package auth

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestIdentitiesAreReadStrictly(t *testing.T) {
	long := strings.Repeat("a", NameMax)
	for uri, want := range map[string]Identity{
		"hamadryad://c/manager/m":                     {"c", Manager, "m"},
		"hamadryad://prod.eu/launcher/node-7.example": {"prod.eu", Launcher, "node-7.example"},
		"hamadryad://c/user/ann+batch_2@EXAMPLE.COM":  {"c", User, "ann+batch_2@EXAMPLE.COM"},
		"hamadryad://" + long + "/user/" + long:       {long, User, long},
		"hamadryad://c/user/7":                        {"c", User, "7"},
	} {
		got, err := ParseIdentity(uri)
		if err != nil || got != want || got.String() != uri {
			t.Errorf("%s: %+v %v", uri, got, err)
		}
	}
	for _, uri := range []string{
		"", "hamadryad:", "hamadryad://", "http://c/user/ann", "HAMADRYAD://c/user/ann", "hamadryad:/c/user/ann", "hamadryad:///user/ann",
		"hamadryad://c/user/", "hamadryad://c//ann", "hamadryad://c/user/ann/", "hamadryad://c/user/ann/b", "hamadryad://c/user", "hamadryad://c/root/ann",
		"hamadryad://c/User/ann", "hamadryad://c/user/ann?x", "hamadryad://c/user/ann#x", "hamadryad://c:80/user/ann", "hamadryad://me@/user/ann", "hamadryad://me@c/user/ann", "hamadryad://c./user/ann", "hamadryad://a..b/user/ann",
		"hamadryad://c/user/%61nn", "hamadryad://c/user/..", "hamadryad://c/user/.ann", "hamadryad://c/user/-ann", "hamadryad://c/user/@x", "hamadryad://c/user/a b",
		"hamadryad://c/user/ann\n", "hamadryad://c/user/ann\x00", " hamadryad://c/user/ann", "hamadryad://c/user/\u0430nn", "hamadryad://c/user/" + long + "a",
		"hamadryad://" + long + "a/user/ann", "hamadryad://c/user/ann,hamadryad://c/user/bob",
	} {
		if got, err := ParseIdentity(uri); err == nil {
			t.Errorf("%q: %+v", uri, got)
		}
	}
}

// Every identity has one spelling, which survives a URL, as in a certificate.
func TestWhatIsAnIdentityIsSpelledOneWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		uri := rapid.StringMatching(`hamadryad://[a-zA-Z0-9._@+%:/?-]{0,8}/(user|launcher|manager|x)/[a-zA-Z0-9._@+%/?#-]{0,8}`).Draw(t, "uri")
		id, err := ParseIdentity(uri)
		if err != nil {
			return
		}
		if id.String() != uri {
			t.Fatalf("%q is read as %+v, which is %s", uri, id, id)
		}
		if u, err := url.Parse(uri); err != nil || u.String() != uri {
			t.Fatalf("%q is %v as a URL, %v", uri, u, err)
		}
	})
}

func TestNobodyIsProvedByDefault(t *testing.T) {
	ctx := context.Background()
	if p, ok := From(ctx); ok || p.Proved() {
		t.Fatalf("%+v", p)
	}
	ann := Principal{Kind: User, Name: "ann", Groups: []string{"staff"}, Proof: Certificate}
	p, ok := From(With(ctx, ann))
	if !ok || !p.Proved() || !p.In("staff") || p.In("root") {
		t.Fatalf("%+v", p)
	}
	for _, p := range []Principal{{Name: "ann"}, {Name: "ann", Proof: Unproven}, {Proof: Certificate}} {
		if p.Proved() {
			t.Errorf("%+v counts as proved", p)
		}
	}
}

// FuzzParseIdentity parses names of unverified certificates. Each identity has one spelling, and no
// character of it has a meaning in a path, a URI or a shell.
func FuzzParseIdentity(f *testing.F) {
	for _, text := range []string{"hamadryad://c/manager/m1", "hamadryad://c.d/user/ann@x", "hamadryad://c/user/../x", "hamadryad://c:1/user/a", "hamadryad://c/user/a?b", "https://c/user/a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseIdentity(text)
		if err != nil {
			return
		}
		again, err := NewIdentity(id.Cluster, id.Kind, id.Name)
		if err != nil || again != id || id.String() != text {
			t.Errorf("%q is %+v, which is written %q and read as %+v (%v)", text, id, id, again, err)
		}
		if at := strings.IndexFunc(id.Cluster+id.Name, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+@", r)
		}); at >= 0 || strings.HasPrefix(id.Name, ".") || len(text) > 400 {
			t.Errorf("%q is taken for an identity", text)
		}
	})
}
