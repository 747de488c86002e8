package shell

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/plugins/internal/vectors"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/signature"
)

// vector is a case of the policy's testdata about the authenticator or the store.
type vector struct {
	ID, Kind, Origin, Source, Note string
	Expected                       json.RawMessage

	// Of signatures.
	QueryPath, User, Key                      string
	TimestampMs                               int64
	SignedString, Base64, AuthorizationHeader string
	Queue                                     string
	ValidSignature                            bool
	Text, WriteFormat                         string
	ServerStartMs                             int64
	Rule                                      string
	Requests                                  []struct {
		User         string
		TS           int64 `json:"ts"`
		BadSignature bool
		Accepted     bool
	}
}

func TestVectors(t *testing.T) {
	vectors.RunKinds(t, "../testdata", map[string]func(*testing.T, vector){
		"signature": signatures, "job-submission": submissions, "replay-sequence": replays, "budget-file": budgetFiles,
	})
}

// signatures signs as a client, reads as the authenticator, and has the authenticator let it in.
func signatures(t *testing.T, v vector) {
	at := time.UnixMilli(v.TimestampMs)
	signed, authorization := signature.Sign(v.QueryPath, nil, v.User, at, v.Key, signature.SHA1)
	text, err := url.PathUnescape(authorization)
	if err != nil || signed != v.SignedString || text != v.Base64 {
		t.Errorf("%q is signed %q, %v", signed, text, err)
	}
	c := request(v.SignedString, v.AuthorizationHeader)
	want := fmt.Sprintf("%q for %q, ", v.QueryPath, v.User)
	if v.QueryPath == "" {
		c = submit(v.User, v.User, scheduler.ProofTimestampHadoop, fmt.Sprint(v.TimestampMs), scheduler.ProofSignatureHadoop, v.AuthorizationHeader)
	}
	if got := doorOf(t, at, v.User, v.Key).says(c); !strings.Contains(got, want) || !strings.HasSuffix(got, "by hmac-sha1") {
		t.Errorf("the authenticator says %s", got)
	}
	if got := doorOf(t, at, v.User, v.Key+"x").says(c); !strings.HasPrefix(got, "500") {
		t.Errorf("with another key the authenticator says %s", got)
	}
}

// doorOf is an authenticator at a time that knows an administrator, whose key may be shorter than a list takes.
func doorOf(t *testing.T, at time.Time, admin, key string) *door {
	t.Helper()
	d := newDoor(t)
	d.at = at
	d.again()
	if err := os.Chtimes(d.keys.path, at, at); err != nil { // it has been so for long: it is read once
		t.Fatal(err)
	}
	if _, known, err := d.keys.user("ann"); !known || err != nil {
		t.Fatal(known, err)
	}
	d.keys.users = map[string]user{admin: {role: "admin", key: key}}
	return d
}

func submissions(t *testing.T, v vector) {
	d := newDoor(t)
	d.list("alice user alices_own_key\nbob user bobs_own_key\n")
	secret := v.User + "s_own_key"
	if !v.ValidSignature {
		secret = "another's key"
	}
	_, authorization := signature.Sign("", nil, v.User, d.at, secret, signature.SHA1)
	var want string
	if err := json.Unmarshal(v.Expected, &want); err != nil {
		t.Fatal(err)
	}
	got := d.says(submit(v.User, v.Queue, scheduler.ProofTimestampHadoop, fmt.Sprint(d.at.UnixMilli()), scheduler.ProofSignatureHadoop, authorization))
	if in := strings.HasPrefix(got, "page"); in != (want == "accepted") || strings.HasPrefix(got, "error") {
		t.Errorf("%s, want %s", got, want)
	}
}

// replays plays the document's rule, which is a setting.
func replays(t *testing.T, v vector) {
	d := newDoor(t)
	d.list("a user key_of_a\nb user key_of_b\n")
	d.at = time.UnixMilli(v.ServerStartMs)
	d.again()
	if err := d.configure(scheduler.Config{Text: []byte("timestamps-rise: true")}); err != nil {
		t.Fatal(err)
	}
	for i, r := range v.Requests {
		secret := "key_of_" + r.User
		if r.BadSignature {
			secret = "another's key"
		}
		query, authorization := signature.Sign("info", nil, r.User, time.UnixMilli(r.TS), secret, signature.SHA1)
		if got := d.says(request(query, authorization)); strings.HasPrefix(got, "page") != r.Accepted || !strings.HasPrefix(got, "page") && !strings.HasPrefix(got, "500") {
			t.Errorf("request %d: %s", i+1, got)
		}
	}
}

// budgetFiles opens a budget file, and makes the shell write it. Unreadable parts must stay.
func budgetFiles(t *testing.T, v vector) {
	folder := folderWith(t, v.Text)
	s, err := open(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]json.RawMessage
	if json.Unmarshal(v.Expected, &want) != nil {
		want = nil // in words: the line is left out
	}
	state, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, q := range state.Queues() {
		got = append(got, q.Name)
	}
	if !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
		t.Errorf("it has %v, want %s", got, v.Expected)
	}
	if _, err := s.Apply(t.Context(), []account.Entry{{Number: 1, Kind: account.AddQueue, Queue: "bob"}}); err != nil {
		t.Fatal(err)
	}
	if is, err := os.ReadFile(folder + "/" + budgetName); err != nil || !strings.Contains(string(is), v.Text) || !strings.Contains(string(is), "bob 0.0 0.0 0\n") {
		t.Errorf("it is written as %q, %v", is, err)
	}
}
