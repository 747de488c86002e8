package proctest

import (
	"context"
	"io"
	"net/http"
	"testing"
)

// Get requests a page, and returns its status and its whole text, even while the test cleans up. No
// answer ends the test. The test's own goroutine must call it, as for Answer.
func Get(t testing.TB, url string) (status int, text string) {
	t.Helper()
	q, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	status, _, text = Answer(t, q)
	return status, text
}

// Answer sends a request, and returns the answer's status, its header and its whole text. No answer
// ends the test.
func Answer(t testing.TB, q *http.Request) (status int, head http.Header, text string) {
	t.Helper()
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(all)
}
