package window

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hamadryad/hamadryad/internal/browsertest"
	"github.com/hamadryad/hamadryad/internal/proctest"
)

// An attempt's output appears on its log's page as it comes, whatever it is, up to the end, but not
// while the page is paused. The page says what the launcher had no space for.
func TestLogGoesOn(t *testing.T) {
	s := start(t, "  name: fifo\n", 0, 0)
	s.write("launcher.yaml", "launcher:\n  attemptLog: 64KiB\n")
	s.begin("node-1", "serve", "launcher", "--config", "launcher.yaml", "--manager", s.address, "--name", "node-1", "--slots", "1", "--memory", "4GiB", "--data", s.path("node-1"), "--bind", "127.0.0.1")
	if err := os.Mkdir(s.path("lines"), 0o755); err != nil {
		t.Fatal(err)
	}
	printed := 0
	prints := func(text string) {
		t.Helper()
		s.write("text", text)
		if err := os.Rename(s.path("text"), s.path(fmt.Sprintf("lines/%d", printed))); err != nil {
			t.Fatal(err)
		}
		printed++
	}
	job := s.submit("ann", "", "talks", 1, 1, 1, "printing:"+s.path("lines"))
	attempt := s.attempt("job-1")
	b := browsertest.Open(t)
	shows := func(text string) {
		t.Helper()
		browsertest.Ask(b, chromedp.Poll[bool](fmt.Sprintf(`(document.getElementById("log") || {textContent: ""}).textContent.includes(%s)`, quoted(text))))
	}
	text := func() string {
		return browsertest.Ask(b, chromedp.Evaluate[string](`document.getElementById("log").textContent`))
	}
	b.Do(chromedp.Navigate(fmt.Sprintf("%sjobs/job-1/attempts/%s/log", s.web, attempt)))
	shows("map 0 begins")
	prints("the first line\n")
	shows("the first line\n")

	prints("\x1b[31mred\x1b[0m <script>window.ran = true</script><img src=x onerror='window.ran = true'>\u202e\u00a0\tö\xff\r\n")
	shows(`\x1b[31mred\x1b[0m <script>window.ran = true</script><img src=x onerror='window.ran = true'>\u202e\u00a0    ö\ufffd\r` + "\n")
	long := strings.Repeat("0123456789", 3000)
	prints(long + " ends\n")
	shows(long + " ends\n")
	if browsertest.Ask(b, chromedp.Evaluate[bool](`window.ran === true || document.querySelector("#log *") !== null || document.documentElement.scrollWidth > innerWidth`)) {
		t.Error("what was printed became markup, or makes the page wider than it is")
	}

	b.Do(chromedp.Click("#pause"))
	prints("while it paused\n")
	s.says([]string{"while it paused"}, "logs", attempt)
	if strings.Contains(text(), "while it paused") {
		t.Error("the log goes on while the page pauses")
	}
	for range 4 {
		prints(long + "\n")
	}
	prints("after much\n")
	s.says([]string{"after much"}, "logs", attempt)
	b.Do(chromedp.Click("#pause"))
	shows("after much\n")
	if got := text(); !strings.Contains(got, " bytes were dropped here]") || strings.Count(got, "the first line\n") != 1 {
		t.Errorf("nothing says that the launcher had no room for all of\n%.2000s", got)
	}

	prints("the last line\n")
	prints("")
	proctest.Until(t, waitMax, "the job ends", job.Ended)
	shows("the last line\n")
	browsertest.Ask(b, chromedp.Poll[bool](`!document.getElementById("main").innerText.includes("by now")`))
	followed := text()
	b.Do(chromedp.Navigate(fmt.Sprintf("%sjobs/job-1/attempts/%s/log", s.web, attempt)))
	shows("the last line\n")
	if whole := text(); !strings.HasSuffix(whole, followed[strings.LastIndex(followed, "while it paused")+1:]) && !strings.HasSuffix(followed, whole[strings.LastIndex(whole, "]\n")+2:]) {
		t.Errorf("the page that went on ends with\n%.300q, and the page anew with\n%.300q", followed[max(0, len(followed)-300):], whole[max(0, len(whole)-300):])
	}
}

// attempt waits for the first attempt of a job, and returns its id.
func (s *site) attempt(job string) (id string) {
	s.t.Helper()
	proctest.Until(s.t, waitMax, "an attempt of "+job+" runs", func() bool {
		out, err := s.command("status", job, "--attempts", "-o", "json")
		var status struct {
			Attempts []struct {
				ID    string
				State string
			}
		}
		if err != nil || json.Unmarshal([]byte(out), &status) != nil || len(status.Attempts) == 0 {
			return false
		}
		id = status.Attempts[0].ID
		return status.Attempts[0].State == "running"
	})
	return id
}

// quoted is a text as JavaScript has it.
func quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(b)
}
