package hdfs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/jcmturner/gokrb5/v8/spnego"
)

const (
	// webAnswerMax bounds an answer of WebHDFS, in bytes: a file of half a million
	// blocks.
	webAnswerMax = 256 << 20
	// webAgain is how long WebHDFS is left alone after no NameNode's answered.
	webAgain = 30 * time.Second
	// webConnections bounds the connections to a NameNode's web server.
	webConnections = 4
)

// web asks NameNodes through WebHDFS. Safe for concurrent use.
type web struct {
	c      *cluster
	client *http.Client

	mu     sync.Mutex
	first  int       // the NameNode that answered last
	why    error     // nothing answers
	until  time.Time // before then, nothing is asked
	warned bool
}

func newWeb(c *cluster) *web {
	return &web{c: c, client: &http.Client{Timeout: c.set.Call, Transport: &http.Transport{
		Proxy:       http.ProxyFromEnvironment,
		DialContext: (&net.Dialer{Timeout: c.set.Dial}).DialContext, TLSHandshakeTimeout: c.set.Dial,
		MaxConnsPerHost: webConnections, IdleConnTimeout: idleFor,
	}}}
}

var (
	errNoWeb = errors.New("WebHDFS is turned off (dfs.webhdfs.enabled)")
	// errWeb: no WebHDFS answers.
	errWeb = errors.New("WebHDFS does not answer")
)

// remoteError is an exception as WebHDFS tells it.
type remoteError struct {
	Name string `json:"exception"`
	Text string `json:"message"`
}

func (e *remoteError) Error() string { return e.Name + ": " + e.Text }

// Is makes it one of the errors that callers know.
func (e *remoteError) Is(target error) bool {
	return e.Name == notFound && target == fs.ErrNotExist || e.Name == denied && target == fs.ErrPermission
}

// get asks the NameNodes, the one that answered last first, and decodes the answer.
func (w *web) get(ctx context.Context, path string, query url.Values, to any) error {
	if len(w.c.name.Web) == 0 {
		return errNoWeb
	}
	w.mu.Lock()
	first, why, wait := w.first, w.why, time.Now().Before(w.until)
	w.mu.Unlock()
	if wait {
		return why
	}
	var errs []error
	for i := range w.c.name.Web {
		at := (first + i) % len(w.c.name.Web)
		err := w.ask(ctx, w.c.name.Web[at], path, query, to)
		if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			w.mu.Lock()
			w.first, w.why = at, nil
			w.mu.Unlock()
			return err
		}
		errs = append(errs, err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := fmt.Errorf("%w: %w", errWeb, errors.Join(errs...))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.why, w.until = err, time.Now().Add(webAgain)
	return err
}

// ask asks one NameNode.
func (w *web) ask(ctx context.Context, server, path string, query url.Values, to any) error {
	u, err := url.Parse(server)
	if err != nil {
		return err
	}
	u = u.JoinPath("webhdfs/v1")
	u.Path += path
	if w.c.base.KerberosClient == nil {
		query.Set("user.name", w.c.set.User)
	}
	u.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return err
	}
	response, err := w.do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, webAnswerMax))
	if err != nil {
		return fmt.Errorf("%s: %w", server, err)
	}
	if response.StatusCode != http.StatusOK {
		return refusal(server, response.Status, body)
	}
	if err := json.Unmarshal(body, to); err != nil {
		return fmt.Errorf("%s: what answers is no WebHDFS: %w", server, err)
	}
	return nil
}

// do sends a request, with a Kerberos ticket where one is needed.
func (w *web) do(request *http.Request) (*http.Response, error) {
	if w.c.base.KerberosClient == nil {
		return w.client.Do(request)
	}
	who, err := w.c.login()
	if err != nil {
		return nil, err
	}
	return spnego.NewClient(who, w.client, "HTTP/"+request.URL.Hostname()).Do(request)
}

// refusal is the error of an answer that is not 200 OK.
func refusal(server, status string, body []byte) error {
	var answer struct{ RemoteException *remoteError }
	if json.Unmarshal(body, &answer) == nil && answer.RemoteException != nil {
		return fmt.Errorf("%s: %w", server, answer.RemoteException)
	}
	return fmt.Errorf("%s: %s", server, status)
}

// warn says once that places are not known.
func (w *web) warn(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.warned {
		w.warned = true
		w.c.set.Log.Warn("where HDFS blocks lie is not known, so work runs anywhere", "cluster", w.c.name.Name, "cause", err,
			"remedy", "let clients reach the NameNode's WebHDFS (dfs.namenode.http-address, dfs.webhdfs.enabled)")
	}
}
