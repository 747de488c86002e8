package report

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// browser is installed by make deps.
const browser = "chromium-headless-shell"

// reader is a page that shows the report in a frame, and reports what a person sees there.
const reader = `<!DOCTYPE html><meta charset="utf-8"><body><pre id="seen">nothing</pre>
<iframe id="report" style="width:1100px;height:6000px" srcdoc="%s"></iframe>
<script>
onload = () => {
	const frame = document.getElementById("report"), d = frame.contentDocument, w = frame.contentWindow;
	const style = (e) => w.getComputedStyle(e), all = (s) => [...d.querySelectorAll(s)];
	const inside = (svg) => {
		const b = svg.getBoundingClientRect();
		return [...svg.querySelectorAll("text")].every((t) => { const r = t.getBoundingClientRect(); return r.left >= b.left - 1 && r.right <= b.right + 1 && r.top >= b.top - 1 && r.bottom <= b.bottom + 1; });
	};
	document.getElementById("seen").textContent = encodeURIComponent(JSON.stringify({
		title: d.title, mode: d.compatMode, text: d.body.innerText, scripts: all("script").length, strange: window.strange === true || w.strange === true,
		loaded: w.performance.getEntriesByType("resource").length, back: style(d.body).backgroundColor, ink: style(d.querySelector("td")).color,
		drawn: all("svg").filter((s) => s.getBoundingClientRect().width > 500 && s.querySelectorAll("path, rect").length > 4).map((s) => s.parentElement.id),
		cut: all("svg").filter((s) => !inside(s)).map((s) => s.parentElement.id),
		drawingBack: style(d.querySelector("svg .d-back")).fill, drawingInk: style(d.querySelector("svg .d-ink")).fill,
	}));
};
</script>`

// seen is what the page reports.
type seen struct {
	Title, Mode, Text, Back, Ink, DrawingBack, DrawingInk string
	Scripts, Loaded                                       int
	Strange                                               bool
	Drawn, Cut                                            []string
}

// open opens a page in the browser, by day or by night.
func open(t *testing.T, page []byte, dark bool) (s seen) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "reader.html")
	if err := os.WriteFile(file, fmt.Appendf(nil, reader, html.EscapeString(string(page))), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	theme := "1"
	if dark {
		theme = "0"
	}
	var errors bytes.Buffer
	run := exec.CommandContext(ctx, browser, "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir="+filepath.Join(dir, "profile"),
		"--blink-settings=preferredColorScheme="+theme, "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=20000", "--dump-dom", "file://"+file)
	run.Stderr = &errors
	dom, err := run.Output()
	if err != nil {
		t.Fatalf("%s (`make deps` installs it): %v\n%s", browser, err, errors.String())
	}
	found := regexp.MustCompile(`<pre id="seen">([^<]*)</pre>`).FindSubmatch(dom)
	if found == nil {
		t.Fatalf("the browser does not show the page:\n%s", errors.String())
	}
	text, err := url.PathUnescape(string(found[1]))
	if err == nil {
		err = json.Unmarshal([]byte(text), &s)
	}
	if err != nil {
		t.Fatalf("the browser saw %q: %v", found[1], err)
	}
	return s
}

// In a real browser the page is what it is meant to be: all tables and drawings can be
// seen, names are words, nothing runs and nothing is loaded, on light and on dark ground.
func TestTheBrowserShowsThePage(t *testing.T) {
	list := runs(t, 1, 2)
	list[0].Jobs[0].State, list[0].Jobs[0].Failure = "failed", `<img src=x onerror="parent.strange=strange=true"><script>parent.strange=true</script>`
	list[0].Summary.Failed = []*Job{&list[0].Jobs[0]}
	c := Compare(list)
	var page bytes.Buffer
	if err := c.HTML(&page); err != nil {
		t.Fatal(err)
	}
	grounds := map[string]bool{}
	for _, dark := range []bool{false, true} {
		s := open(t, page.Bytes(), dark)
		if s.Mode != "CSS1Compat" || s.Title != "Policies side by side" || s.Scripts != 0 || s.Loaded != 0 || s.Strange {
			t.Errorf("it is read as %q, titled %q, with %d scripts, %d things loaded; something ran: %v", s.Mode, s.Title, s.Scripts, s.Loaded, s.Strange)
		}
		for _, want := range []string{printable(policies[1].name), list[0].Jobs[0].Failure, "sojourn mean (s)", "makespan (s)"} {
			if !strings.Contains(s.Text, want) {
				t.Errorf("nobody can read %q in\n%s", want, s.Text)
			}
		}
		if len(s.Drawn) != len(c.Drawings()) || len(s.Cut) > 0 {
			t.Errorf("%d of %d drawings can be seen; words are cut off in %v", len(s.Drawn), len(c.Drawings()), s.Cut)
		}
		for _, pair := range [][2]string{{s.Back, s.Ink}, {s.DrawingBack, s.DrawingInk}} {
			if r := contrast(t, pair[0], pair[1]); r < 7 {
				t.Errorf("the contrast of %s and %s is %.1f", pair[0], pair[1], r)
			}
		}
		grounds[s.Back] = true
		grounds[s.DrawingBack] = true
	}
	if len(grounds) != 2 {
		t.Errorf("the grounds by day and by night are %v", grounds)
	}
}

// contrast is the contrast ratio of WCAG 2.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	light := func(s string) float64 {
		var r, g, b float64
		if _, err := fmt.Sscanf(s, "rgb(%f, %f, %f)", &r, &g, &b); err != nil {
			t.Fatalf("the colour %q: %v", s, err)
		}
		// All of ours are near grey, for which a power is near enough.
		return (0.2126*r*r + 0.7152*g*g + 0.0722*b*b) / 255 / 255
	}
	x, y := light(a), light(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}
