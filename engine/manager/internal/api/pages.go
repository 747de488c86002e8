package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/internal/audit"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// PolicyRoot is the root of the policy's own pages on the manager's HTTP address.
const PolicyRoot = "/scheduler"

const (
	// pageReadMax bounds the time to read a request's body.
	pageReadMax = 10 * time.Second
	// pageAnswerMax is how long a request may wait for the policy in all.
	pageAnswerMax = 20 * time.Second
)

// PolicyPages serves the policy's own pages. A read is answered beside the log, and a change is a
// logged request. The policy's authenticator, if it has one, says which is which, and who the
// caller is. Other sites' pages in a browser change nothing: mayChange says why a request may not,
// whatever its method is.
func (s *Server) PolicyPages(mayChange func(*http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.servePage(w, r, mayChange) })
}

func (s *Server) servePage(w http.ResponseWriter, r *http.Request, mayChange func(*http.Request) error) {
	ctx, cancel := context.WithTimeout(r.Context(), pageAnswerMax)
	defer cancel()
	q, code, err := asked(w, r)
	if err != nil {
		http.Error(w, err.Error(), code)
		return
	}
	a, err := s.page(ctx, q, r.Header.Get("Authorization"), func() error { return changesByLooking(r, mayChange) })
	if err == nil {
		err = a.Check()
	}
	if err != nil {
		err = pageStatus(err)
		_ = audit.Of(ctx).End(err) // the log says what can't be written
		failPage(w, err)
		return
	}
	sendPage(w, r, a)
}

// changesByLooking returns why a request with a reading method may not change something; nil: it
// may. A page of another site can make a browser send such requests, with the certificate that the
// browser shows automatically. It can't have the browser sign them.
func changesByLooking(r *http.Request, mayChange func(*http.Request) error) error {
	err := mayChange(r)
	if err == nil && r.Header.Get("Authorization") == "" {
		err = fmt.Errorf("%s changes nothing, unless the request is signed, because a page of another site can have a browser send it: use POST", r.Method)
	}
	if err != nil {
		return status.Error(codes.PermissionDenied, err.Error())
	}
	return nil
}

// asked reads a request.
func asked(w http.ResponseWriter, r *http.Request) (q scheduler.PageAsked, code int, err error) {
	path := strings.TrimPrefix(r.URL.EscapedPath(), PolicyRoot)
	accept := strings.ToValidUTF8(r.Header.Get("Accept"), "")
	if q, err = newPage(r.Context(), r.Method, path, r.URL.RawQuery, accept); err != nil {
		w.Header().Set("Allow", "GET, HEAD, POST")
		return q, http.StatusMethodNotAllowed, err
	}
	if !utf8.ValidString(r.URL.RawQuery) {
		return q, http.StatusBadRequest, errors.New("the query is not UTF-8: encode its bytes with %")
	}
	left := scheduler.RequestBytesMax - len(path) - len(r.URL.RawQuery) - len(r.Header.Get("Authorization")) - len(accept)
	if left < 0 {
		return q, http.StatusRequestURITooLong, fmt.Errorf("a request has %d bytes at most", scheduler.RequestBytesMax)
	}
	deadline := http.NewResponseController(w)
	_ = deadline.SetReadDeadline(time.Now().Add(pageReadMax)) // a server in a test may have none
	q.Body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, int64(left)))
	if err == nil { // the caller has sent everything, and must not count as gone
		_ = deadline.SetReadDeadline(time.Now().Add(pageAnswerMax + pageReadMax))
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return q, http.StatusRequestEntityTooLarge, fmt.Errorf("a request has %d bytes at most", scheduler.RequestBytesMax)
	case err != nil:
		return q, http.StatusBadRequest, fmt.Errorf("the request did not come whole: %w", err)
	}
	return q, 0, nil
}

// newPage is a request of now, without a body.
func newPage(ctx context.Context, method, path, query, accept string) (scheduler.PageAsked, error) {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost:
	default:
		return scheduler.PageAsked{}, fmt.Errorf("%.64s is not possible here: use GET or POST", method)
	}
	return scheduler.PageAsked{
		At: scheduler.Time(time.Now().UnixNano()), Principal: asker(ctx, ""), Method: method,
		Path: cmp.Or(path, "/"), Query: query, Accept: accept,
	}, nil
}

// PolicyPage answers a request for one of the policy's pages.
func (s *Server) PolicyPage(ctx context.Context, m *wire.PageRequest) (*wire.PageReply, error) {
	q, err := newPage(ctx, m.Method, m.Path, m.Query, m.Accept)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	q.Body = m.Body
	ctx, cancel := context.WithTimeout(ctx, pageAnswerMax)
	defer cancel()
	a, err := s.page(ctx, q, m.Authorization, func() error { return nil }) // no browser sends such a request
	if err == nil {
		err = a.Check()
	}
	if err != nil {
		return nil, pageStatus(err)
	}
	judged(ctx, a.Status)
	return &wire.PageReply{Status: int64(a.Status), ContentType: a.ContentType, Body: a.Body}, nil
}

// pageStatus is the error, with a code, of a request that the policy did not answer.
func pageStatus(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	switch policy.KindOf(err) {
	case policy.Busy, policy.Canceled, policy.Ended, policy.Died, policy.Deadline:
		return status.Error(codes.ResourceExhausted, err.Error())
	}
	return status.Error(codes.Internal, err.Error())
}

// page has a request answered. byLooking says why a request with a reading method may not change
// something.
func (s *Server) page(ctx context.Context, q scheduler.PageAsked, authorization string, byLooking func() error) (scheduler.Answer, error) {
	authenticator, err := s.authenticator(ctx)
	if err != nil {
		return scheduler.Answer{}, err
	}
	host, can := s.needs.Supervisor.Decider()
	if host == nil || !can.Has(scheduler.AbilityPageHandler) && !can.Has(scheduler.AbilityLoggedRequests) {
		return scheduler.Answer{}, status.Error(codes.NotFound, "the policy that runs has no pages, and answers no questions of its own; dynamic-priority does (policy.name)")
	}
	changes := !can.Has(scheduler.AbilityPageHandler) || q.Method == http.MethodPost
	if authenticator != nil {
		proof, err := authenticator.Prove(ctx, scheduler.Credentials{
			Purpose: scheduler.PurposeRequest, Principal: q.Principal, Request: q, Authorization: authorization,
		})
		switch {
		case err != nil:
			return scheduler.Answer{}, authenticatorDown(err)
		case proof.Denied != nil:
			return *proof.Denied, nil
		}
		if err := sound(proof.Principal.Name, proof.Principal.Proof, proof.Principal.Role); err != nil {
			return scheduler.Answer{}, err
		}
		if err := sameUser(q.Principal, proof.Principal); err != nil {
			return scheduler.Answer{}, err
		}
		if len(proof.Query) > len(q.Query) || !utf8.ValidString(proof.Query) {
			return scheduler.Answer{}, status.Error(codes.Internal, "the policy's authenticator made the query longer, or something else than UTF-8")
		}
		q.Principal, q.Query, changes = proof.Principal, proof.Query, proof.Changes
		if changes && q.Method != http.MethodPost {
			if err := byLooking(); err != nil {
				return scheduler.Answer{}, err
			}
		}
	}
	if changes {
		return s.change(ctx, q)
	}
	return host.Page(ctx, q)
}

// change has a logged request answered.
func (s *Server) change(ctx context.Context, q scheduler.PageAsked) (scheduler.Answer, error) {
	if err := s.mayChange(ctx, q); err != nil {
		return scheduler.Answer{}, err
	}
	if err := s.roomForWork(); err != nil {
		return scheduler.Answer{}, err
	}
	r, err := s.call(ctx, func(client uint64) *wire.Input {
		return wire.NewInput(&wire.PolicyRequest{
			Client: client, Principal: &wire.Principal{Name: q.Principal.Name, Proof: q.Principal.Proof, Role: q.Principal.Role},
			Method: q.Method, Path: q.Path, Query: q.Query, Accept: q.Accept, Body: q.Body,
		})
	})
	if err != nil {
		return scheduler.Answer{}, err
	}
	if r.Answer == nil {
		return scheduler.Answer{}, status.Error(codes.Internal, "the manager has no answer to the request")
	}
	return *r.Answer, nil
}

// failPage answers a request that the policy did not answer, with the error of a status.
func failPage(w http.ResponseWriter, err error) {
	code := http.StatusInternalServerError
	switch status.Code(err) {
	case codes.NotFound:
		code = http.StatusNotFound
	case codes.Unavailable, codes.ResourceExhausted, codes.Canceled, codes.DeadlineExceeded, codes.FailedPrecondition:
		code = http.StatusServiceUnavailable
	case codes.InvalidArgument:
		code = http.StatusBadRequest
	case codes.PermissionDenied:
		code = http.StatusForbidden
	}
	text := status.Convert(err).Message()
	if code == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	http.Error(w, text, code)
}

// sendPage sends a policy's answer. A third-party program wrote it: no browser runs its scripts.
func sendPage(w http.ResponseWriter, r *http.Request, a scheduler.Answer) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	if a.ContentType != "" {
		h.Set("Content-Type", a.ContentType)
	}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(a.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(a.Body)
	}
}
