package manager

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/signature"
)

// queues reads what an administrator sees.
func (b *testbed) queues() (names []string, all string) {
	b.t.Helper()
	code, text := b.asks("root", "infos")
	var info struct {
		Queue []struct {
			Name             string `xml:"name,attr"`
			Budget, Spending string
			B                string `xml:"budget"`
			S                string `xml:"spending"`
		} `xml:"queue"`
	}
	if err := xml.Unmarshal([]byte(text), &info); err != nil || code != http.StatusOK {
		b.t.Fatalf("%d %v\n%s", code, err, text)
	}
	for _, q := range info.Queue {
		names = append(names, q.Name)
		all += fmt.Sprintf("%q %s %s\n", q.Name, q.B, q.S)
	}
	return names, all
}

// Names with characters special to XML and URLs work like others. Names that no line can hold are
// refused, and nothing is changed.
func TestOddNamesAtTheService(t *testing.T) {
	b := newPriced(t)
	want := []string{"bob", "myqueue"}
	for _, name := range []string{`<queue>&"'`, "]]>", "<!--x-->", "&amp;", "a=b&c=d", "a+b", "%41", "ünï€😀", "../..", "#x", "queue", "user", "1e9", "null"} {
		query := "addQueue=" + url.QueryEscape(name)
		if code, text := b.asks("root", query); code != http.StatusOK {
			t.Errorf("%q: %d %s", name, code, text)
		}
		if code, text := b.asks("root", "info="+url.QueryEscape(name)); code != http.StatusOK {
			t.Errorf("info of %q: %d %s", name, code, text)
		} else if _, err := shape(text); err != nil {
			t.Errorf("info of %q: %v\n%s", name, err, text)
		}
		want = append(want, name)
	}
	slices.Sort(want)
	for _, name := range []string{"", "a b", "a\x00", "a\nb 1 1", "\xff", "a\x1bb", "\u202eab", "\ufeff", strings.Repeat("x", 65), "\u2028"} {
		for _, query := range []string{"addQueue=" + url.QueryEscape(name), "addBudget=5&queue=" + url.QueryEscape(name)} {
			if code, text := b.asks("root", query); code != http.StatusBadRequest || scheduler.Printable(text[:len(text)-1]) != text[:len(text)-1] {
				t.Errorf("%q: %d %q", query, code, text)
			}
		}
	}
	if got, _ := b.queues(); !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
	// A user of such a name.
	list, err := os.OpenFile(filepath.Join(b.cfg.Policy.Store, "acl"), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	const odd = `<queue>&"'`
	if _, err := fmt.Fprintf(list, "%s user key_of_%s\n", odd, odd); err != nil {
		t.Fatal(err)
	}
	if err := list.Close(); err != nil {
		t.Fatal(err)
	}
	if code, text := b.asks(odd, "setSpending=0.5"); code != http.StatusOK || !strings.Contains(text, "<spending>0.5</spending>") {
		t.Errorf("%q sets a bid: %d %s", odd, code, text)
	}
	if code, text := b.asks(odd, "setSpending=0.5&queue=bob"); code != http.StatusInternalServerError {
		t.Errorf("%q sets bob's bid: %d %s", odd, code, text)
	}
}

// A request without a key changes nothing and learns only price and time, whatever it sends. An
// answer declared as XML or JSON is valid.
func TestWhateverIsAsked(t *testing.T) {
	b := newPriced(t)
	_, before := b.queues()
	bit := rapid.OneOf(
		rapid.SampledFrom([]string{
			"price", "time", "info", "infos", "setSpending=1", "addBudget=5", "addQueue=x", "removeQueue=bob", "queue=bob", "user=root", "timestamp=1", "&", "=", "?", "%", "%00", "%zz", "+", ";",
			"info=bob", "x", "price=1", "&user=root&timestamp=99999999999999999999", "setSpending=NaN", "setSpending=-1", "addBudget=1e99", "<a>", "]]>",
		}),
		rapid.StringMatching(`[!-~]{0,8}`))
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.SliceOfN(bit, 0, 4).Draw(t, "query")
		query := strings.Join(bits, rapid.SampledFrom([]string{"&", "", "&&"}).Draw(t, "between"))
		user := rapid.SampledFrom([]string{"bob", "root", "myqueue", "", "nobody"}).Draw(t, "user")
		signed, authorization := signature.Sign(query, nil, user, later(), rapid.SampledFrom([]string{"", "x", "key_of_" + user + "x"}).Draw(t, "key"), rapid.SampledFrom([]signature.Hash{signature.SHA1, signature.SHA256}).Draw(t, "hash"))
		switch rapid.IntRange(0, 4).Draw(t, "signed") {
		case 0:
			signed, authorization = query, ""
		case 1:
			authorization = rapid.StringMatching(`[!-~]{0,50}`).Draw(t, "authorization")
		case 2:
			signed = query
		}
		method := rapid.SampledFrom([]string{"GET", "POST", "HEAD", "PUT", "DELETE", "TRACE"}).Draw(t, "method")
		body := ""
		if method == "POST" || method == "GET" {
			body = strings.Join(rapid.SliceOfN(bit, 0, 2).Draw(t, "body"), "&")
		}
		accept := rapid.SampledFrom([]string{"", "application/json", "text/xml", "*/*", "application/json;q=0.1, <x>"}).Draw(t, "accept")
		path := rapid.SampledFrom([]string{"", "/", "/x", "/%2e%2e/metrics", "//", "/%00", "/%ff"}).Draw(t, "path")
		text := fmt.Sprintf("%s /scheduler%s?%s HTTP/1.1\r\nHost: h\r\nConnection: close\r\nAccept: %s\r\nAuthorization: %s\r\nContent-Length: %d\r\n\r\n%s", method, path, signed, accept, authorization, len(body), body)
		code, kind, got := b.raw(text)
		for code == http.StatusServiceUnavailable {
			code, kind, got = b.raw(text)
		}
		switch {
		case code == http.StatusOK && strings.Contains(got, "budget"), strings.Contains(got, "key_of"), strings.Contains(got, "goroutine"):
			t.Fatalf("%q: %d %s", text, code, got)
		case strings.HasPrefix(kind, "text/xml") && method != "HEAD":
			if _, err := shape(got); err != nil {
				t.Fatalf("%q: %v\n%s", text, err, got)
			}
		case strings.HasPrefix(kind, "application/json") && method != "HEAD":
			if !json.Valid([]byte(got)) {
				t.Fatalf("%q: no JSON\n%s", text, got)
			}
		case code == http.StatusOK && method != "HEAD" && !strings.Contains(path, "%2e"):
			t.Fatalf("%q: %d %s %s", text, code, kind, got)
		}
	})
	if _, after := b.queues(); after != before {
		t.Errorf("there was\n%sand is\n%s", before, after)
	}
}
