package page_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/page"
)

func ptr[T any](v T) *T { return &v }

// TestTheDocumentsExamples are its answers, as printed there but for the spaces.
func TestTheDocumentsExamples(t *testing.T) {
	for want, info := range map[string]page.Info{
		`<QueueInfo>
  <host>myhost</host>
  <queue name="queue1">
    <budget>99972.0</budget>
    <spending>0.11</spending>
    <share>0.008979593</share>
    <used>1</used>
    <pending>43</pending>
  </queue>
</QueueInfo>
`: {Host: "myhost", Queues: []page.Queue{{
			Name: "queue1", Budget: page.Amount(99972 * money.Credit), Spending: page.Amount(110_000), Share: page.Share(110_000, 12_249_998), Used: 1, Pending: 43,
		}}},
		`<QueueInfo>
  <host>myhost</host>
  <start>1238600160788</start>
  <time>1238605061519</time>
</QueueInfo>
`: {Host: "myhost", Start: ptr[int64](1238600160788), Time: ptr[int64](1238605061519)},
		`<QueueInfo>
  <host>myhost</host>
  <price>12.249998</price>
</QueueInfo>
`: {Host: "myhost", Price: ptr(page.Amount(12_249_998))},
	} {
		if got := info.Answer(false); string(got.Body) != want || got.Status != 200 || got.ContentType != "text/xml; charset=utf-8" {
			t.Errorf("%+v\n%s", got, got.Body)
		}
	}
}

// TestAnswersAreWellFormed whatever names there are: XML and JSON say the same of them.
func TestAnswersAreWellFormed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{`<&>"'`, "]]>", "<!--", "a\x00b", "\xff", "&amp;"})), 1, 5).Draw(t, "names")
		info := page.Info{Host: names[0]}
		for _, n := range names {
			info.Queues = append(info.Queues, page.Queue{Name: n, Budget: page.Amount(-5), Spending: "0.0", Share: page.Share(1, 3)})
		}
		d := xml.NewDecoder(strings.NewReader(string(info.Answer(false).Body)))
		var found []string
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v: %s", err, info.Answer(false).Body)
			}
			if e, ok := token.(xml.StartElement); ok && e.Name.Local == "queue" {
				found = append(found, e.Attr[0].Value)
			}
		}
		var read struct {
			Queues []struct {
				Name   string
				Budget json.Number
			}
		}
		if err := json.Unmarshal(info.Answer(true).Body, &read); err != nil || len(read.Queues) != len(names) || len(found) != len(names) {
			t.Fatalf("%v, %d and %d queues", err, len(read.Queues), len(found))
		}
		for i, n := range names {
			clean := strings.ToValidUTF8(n, "\uFFFD") == n && strings.IndexFunc(n, func(r rune) bool { return r < 0x20 || r >= 0x7f }) < 0
			if clean && (found[i] != n || read.Queues[i].Name != n) {
				t.Fatalf("%q is read %q and %q", n, found[i], read.Queues[i].Name)
			}
			if read.Queues[i].Budget != "-0.000005" {
				t.Fatalf("a budget of %s", read.Queues[i].Budget)
			}
		}
	})
}

func TestShares(t *testing.T) {
	for want, parts := range map[page.Number][2]money.Amount{"0.333333333": {1, 3}, "0.666666667": {2, 3}, "1.0": {5, 5}, "0.0": {0, 0}, "0.5": {1, 2}} {
		if got := page.Share(parts[0], parts[1]); got != want {
			t.Errorf("%v: %s, want %s", parts, got, want)
		}
	}
}

func TestWhoIsDenied(t *testing.T) {
	if a := page.Denied("infos", false, true); a.Status != 500 || string(a.Body) != "ACCESS DENIED: infos\n" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	for proven, status := range map[bool]int{true: 403, false: 401} {
		if a := page.Denied("infos", true, proven); a.Status != status || string(a.Body) != `{"error":"access denied"}`+"\n" {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
	long := page.Denied(strings.Repeat("\x1b\n", 1<<20), false, false)
	if len(long.Body) > 1<<14 || strings.ContainsAny(string(long.Body[:len(long.Body)-1]), "\x1b\n") {
		t.Errorf("%d bytes are sent back, or what steers a terminal", len(long.Body))
	}
}

// TestMoreThanCanBeSent is not cut, but refused.
func TestMoreThanCanBeSent(t *testing.T) {
	one := page.Queue{Name: strings.Repeat("\"", 64), Budget: "0.0", Spending: "0.0", Share: "0.0"}
	info := page.Info{Queues: slices.Repeat([]page.Queue{one}, 50_000)}
	for _, asJSON := range []bool{false, true} {
		if a := info.Answer(asJSON); a.Status != 500 || !strings.Contains(string(a.Body), "one by one") {
			t.Errorf("%d, %d bytes", a.Status, len(a.Body))
		}
	}
}
