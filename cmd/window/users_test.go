package window

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hamadryad/hamadryad/internal/browsertest"
	"github.com/hamadryad/hamadryad/internal/proctest"
)

// The page of users has what each may have, and has, and follows a limit that is raised while jobs
// run.
func TestUsersAtTheirLimits(t *testing.T) {
	const lowered = "core:\n  userLimits:\n    each: {jobs: 5, slots: 2, memory: 1GiB}\n"
	s := start(t, "  name: fifo\n"+lowered, 1, 4)
	held := s.submit("ann & co", "", "held", 6, 1, 1, "held:"+s.path("go"))
	b := browsertest.Open(t)
	row := func(texts ...string) chromedp.Action[chromedp.Void] {
		has := `contains(th,"ann & co")`
		for _, text := range texts {
			has += ` and td[normalize-space(.)="` + text + `"]`
		}
		return chromedp.WaitVisible(`//tr[` + has + `]`)
	}
	b.Do(chromedp.Navigate(s.web+"users"), row("1 of 5", "2 of 2", "512 MiB of 1.0 GiB", "-"))

	s.write("site.yaml", strings.Replace(s.read("site.yaml"), "slots: 2, ", "slots: 3, ", 1))
	b.Do(row("1 of 5", "3 of 3"))
	b.Do(chromedp.Click(`//th/a[.="ann & co"]`), chromedp.WaitVisible(`//a[.="job-1"]`))

	s.write("go", "")
	proctest.Until(t, waitMax, "the job ends", held.Ended)
	b.Do(chromedp.Navigate(s.web+"users"), chromedp.WaitVisible(`//td[.="None."]`))
}
