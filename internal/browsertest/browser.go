// Package browsertest opens the pages in a real browser, for tests.
//
//	b := browsertest.Open(t)
//	b.Do(chromedp.Navigate(server), chromedp.Click("#pause"))
//	at := browsertest.Ask(b, chromedp.Location())
//
// Errors that the pages log, and their requests to other machines, fail the test at its end.
package browsertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// program is installed by make deps.
const program = "chromium-headless-shell"

const (
	// useMax bounds the use of a browser in one test, stepMax one action.
	useMax  = 3 * time.Minute
	stepMax = 30 * time.Second
)

// Tab is a tab of a browser. Not safe for concurrent use.
type Tab struct {
	t   testing.TB
	ctx context.Context //nolint:containedctx // of the browser

	*complaints
}

// complaints are the errors of all tabs of a browser.
type complaints struct {
	mu  sync.Mutex
	all []string
}

// Open opens a browser with one tab. It ends with the test.
func Open(t testing.TB) *Tab {
	t.Helper()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, useMax)
	t.Cleanup(cancel)
	heard := &complaints{}
	t.Cleanup(func() {
		heard.mu.Lock()
		defer heard.mu.Unlock()
		for _, c := range heard.all {
			t.Error("the browser says: " + c)
		}
	})
	return tab(t, ctx, heard)
}

// Another opens a second tab in the same browser.
func (b *Tab) Another() *Tab {
	b.t.Helper()
	return tab(b.t, b.ctx, b.complaints)
}

func tab(t testing.TB, of context.Context, heard *complaints) *Tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(of)
	t.Cleanup(cancel)
	b := &Tab{t: t, ctx: ctx, complaints: heard}
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatalf("%s (`make deps` installs it): %v", program, err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	return b
}

// hear records errors and requests that our pages must not cause.
func (c *complaints) hear(e any) {
	var says string
	switch e := e.(type) {
	case *runtime.EventExceptionThrown:
		says = e.ExceptionDetails.Text
	case *page.EventJavascriptDialogOpening:
		says = "a dialog: " + e.Message
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, "http://127.0.0.1:") && !strings.HasPrefix(e.Request.URL, "data:") {
			says = "it asks for " + e.Request.URL
		}
	}
	if says != "" {
		c.mu.Lock()
		c.all = append(c.all, says)
		c.mu.Unlock()
	}
}

// Context is the tab's context, for actions of chromedp that this package lacks.
func (b *Tab) Context() context.Context { return b.ctx }

// Do runs actions one after another.
func (b *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	for i, a := range actions {
		if _, err := retried(b.ctx, a); err != nil {
			b.fail(fmt.Errorf("action %d of %d: %w", i+1, len(actions), err))
		}
	}
}

// replaced are the browser's errors for an element or a document that the page replaced between two
// messages of one action. Such an action had no effect: the browser finds an element before it sends events to it.
var replaced = []string{
	"Could not find node with given id", "Node with given id does not belong to the document", "No node with given id found",
	"Cannot find context with specified id", "Execution context was destroyed.",
}

// retried runs an action again while the page replaces what the action needs, for at most stepMax.
func retried[T any](ctx context.Context, action chromedp.Action[T]) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, stepMax)
	defer cancel()
	for {
		x, err := chromedp.Run(ctx, action)
		var told *cdproto.Error
		if err == nil || ctx.Err() != nil || !errors.As(err, &told) || !slices.Contains(replaced, told.Message) {
			return x, err
		}
	}
}

// fail ends the test and prints what the tab shows.
func (b *Tab) fail(err error) {
	b.t.Helper()
	shown, lost := chromedp.Run(b.ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText`))
	if lost != nil {
		shown = lost.Error()
	}
	b.t.Fatalf("%v; the tab shows\n%s", err, shown)
}

// Ask runs an action and returns its result.
func Ask[T any](b *Tab, action chromedp.Action[T]) T {
	b.t.Helper()
	x, err := retried(b.ctx, action)
	if err != nil {
		b.fail(err)
	}
	return x
}
