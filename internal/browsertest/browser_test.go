package browsertest_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hamadryad/hamadryad/internal/browsertest"
)

// A page that replaces its button all the time is clicked all the same, once.
func TestAPageThatReplacesItsButton(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`<!doctype html><link rel="icon" href="data:,"><div id="place"></div><p id="clicks">0</p><script>
let clicks = 0
function draw() {
  place.innerHTML = '<button id="go">go</button>'
  document.getElementById("go").onmousedown = () => { document.getElementById("clicks").innerText = ++clicks }
}
draw()
setInterval(draw, 10)
</script>`))
	}))
	defer s.Close()
	b := browsertest.Open(t)
	b.Do(chromedp.Navigate(s.URL))
	const want = 3
	for range want {
		b.Do(chromedp.Click("#go"))
	}
	if got := browsertest.Ask(b, chromedp.Evaluate[int](`clicks`)); got != want {
		t.Errorf("%d clicks were seen, want %d", got, want)
	}
}
