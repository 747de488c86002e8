package control_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/control"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
)

func TestParse(t *testing.T) {
	for query, want := range map[string]control.Request{
		"price": {Verb: control.Price}, "price=": {Verb: control.Price}, "time": {Verb: control.Time}, "infos": {Verb: control.Infos},
		"info": {Verb: control.Info}, "info=": {Verb: control.Info}, "info=bob": {Verb: control.Info, Queue: "bob"},
		"setSpending=0.01&queue=myqueue":           {Verb: control.SetSpending, Amount: 10_000, Queue: "myqueue"},
		"queue=myqueue&setSpending=0.01":           {Verb: control.SetSpending, Amount: 10_000, Queue: "myqueue"},
		"setSpending=1e-05":                        {Verb: control.SetSpending, Amount: 10},
		"addBudget=100.5&queue=bob":                {Verb: control.AddBudget, Amount: 100_500_000, Queue: "bob"},
		"addBudget=-5&queue=bob":                   {Verb: control.AddBudget, Amount: -5 * money.Credit, Queue: "bob"},
		"addQueue=%3Cx%26%22%3E":                   {Verb: control.AddQueue, Queue: `<x&">`},
		"removeQueue=x&user=root&timestamp=123456": {Verb: control.RemoveQueue, Queue: "x"},
	} {
		if got, err := control.Parse(query); err != nil || got != want {
			t.Errorf("%s: %+v, %v", query, got, err)
		}
	}
	for query, want := range map[string]string{
		"": "asks for nothing", "queue=a": "asks for nothing", "hello": "is unknown", "price&infos": "one at a time", "price&price": "there twice",
		"setSpending=NaN": "is no number", "setSpending=Infinity&queue=a": "is no number", "setSpending=-1&queue=a": "must not be negative",
		"setSpending=1e12&queue=a": "at most 1000000.0 is allowed", "setSpending=1e99": "more than there can be", "setSpending": "is no number",
		"addBudget=nan&queue=a": "is no number", "addBudget=-inf&queue=a": "is no number", "addBudget=1e300&queue=a": "is no number",
		"addBudget=1": "name is empty", "addQueue": "name is empty", "addQueue=": "name is empty", "addQueue=a%20b": "no white space",
		"addQueue=a+b": "no white space", "addQueue=%0a": "no white space", "addQueue=%ff": "is UTF-8", "addQueue=%f": "two hexadecimal digits",
		"addQueue=%zz": "two hexadecimal digits", "addQueue=" + strings.Repeat("x", 65): "65 bytes", "setSpending=1&queue=": "name is empty",
		"price=bob": "leave the queue out", "infos&queue=a": "leave the queue out", "info=a&queue=b": "behind the verb",
		"setSpending=1&queue=a&queue=b": "there twice", "setSpending=1&admin=1": "is unknown", "x=" + strings.Repeat("a", 5000): "at most 4096 are read",
	} {
		if got, err := control.Parse(query); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: %+v, error %v, want %s", query, got, err, want)
		}
	}
}

// TestEscapesAreThoseOfURLs: a name comes through as net/url would write and read it.
func TestEscapesAreThoseOfURLs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringN(1, 16, 64).Draw(t, "name")
		r, err := control.Parse("addQueue=" + url.QueryEscape(name))
		if wrong := account.CheckName(name); (err == nil) != (wrong == nil) || err == nil && r.Queue != name {
			t.Fatalf("%q: %q, %v, and as a name %v", name, r.Queue, err, wrong)
		}
		raw := rapid.StringMatching(`[a-f0-9%+]{0,6}`).Draw(t, "raw")
		want, wrong := url.QueryUnescape(raw)
		if r, err := control.Parse("info=x" + raw); wrong != nil && err == nil || err == nil && r.Queue != "x"+want {
			t.Fatalf("%q: %q, %v, want %q, %v", raw, r.Queue, err, want, wrong)
		}
	})
}

// TestWhoMayAsk is the table of the document: each verb without a user, for a user, for a user and
// another's queue, and for an administrator.
func TestWhoMayAsk(t *testing.T) {
	for query, may := range map[string][3]bool{ // no user, alice, an administrator
		"price": {true, true, true}, "time": {true, true, true},
		"info": {false, true, true}, "info=alice": {false, true, true}, "info=bob": {false, false, true}, "infos": {false, false, true},
		"setSpending=1": {false, true, true}, "setSpending=1&queue=alice": {false, true, true}, "setSpending=1&queue=bob": {false, false, true},
		"addBudget=1&queue=alice": {false, false, true}, "addBudget=-1&queue=bob": {false, false, true},
		"addQueue=alice": {false, false, true}, "removeQueue=alice": {false, false, true},
	} {
		r, err := control.Parse(query)
		if err != nil {
			t.Fatal(err)
		}
		for i, who := range []control.Principal{{Name: "alice"}, {Name: "alice", Role: control.User}, {Name: "root", Role: control.Admin}} {
			got, err := r.For(who)
			if (err == nil) != may[i] || err != nil && !errors.Is(err, control.ErrDenied) {
				t.Errorf("%s for %+v: %v", query, who, err)
			}
			own := r.Queue == "" && (r.Verb == control.Info || r.Verb == control.SetSpending)
			if err == nil && own && got.Queue != who.Name {
				t.Errorf("%s for %+v means queue %q", query, who, got.Queue)
			}
		}
	}
	for name, want := range map[string]control.Role{"": control.Nobody, "user": control.User, "admin": control.Admin} {
		if got, err := control.ParseRole(name); err != nil || got != want {
			t.Errorf("%q: %v, %v", name, got, err)
		}
	}
	if got, err := control.ParseRole("Admin"); err == nil || got != control.Nobody {
		t.Errorf("%v, %v", got, err)
	}
}
