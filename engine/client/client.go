// Package client talks to a manager: it submits jobs, follows them and gets the data that the
// command line shows. app and cmd share it.
//
//	c, err := client.Dial("127.0.0.1:7070", client.Options{})
//	jobs, err := c.Jobs(ctx, false)
//
// Calls outlive a restart of the manager: they are tried again for
// Options.Reconnect. Errors are *Error values with the manager's own words, or
// match ErrUnreachable. A Client is safe for concurrent use.
package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/client/internal/transport"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// AddressVariable is the environment variable with the manager's address.
const AddressVariable = "HAMADRYAD_MANAGER"

// LocalAddress is where a manager listens by default.
const LocalAddress = "127.0.0.1:7070"

// DefaultAddress is the manager of every program that names none: HAMADRYAD_MANAGER, else the
// manager of the user's current context, else LocalAddress. Dial reports mistakes in the file of
// contexts.
func DefaultAddress() string {
	if given := os.Getenv(AddressVariable); given != "" {
		return given
	}
	if t, err := ContextTarget(""); err == nil && t != nil {
		return t.Manager
	}
	return LocalAddress
}

// Options are a client's bounds. Zero values are the defaults.
type Options struct {
	// Wait is how long to wait for a manager that does not answer, in place of Connect and
	// Reconnect. It also bounds Call. By default it is $HAMADRYAD_WAIT.
	Wait time.Duration
	// Connect bounds the wait for a manager that has never answered; 3 s.
	Connect time.Duration
	// Reconnect bounds the wait for a manager that has answered before; 2 min.
	Reconnect time.Duration
	// Call bounds one try of a call without bulk data; 1 min. Sending a program may take ten times
	// that.
	Call time.Duration
	// For is the user in whose name to call, if the caller may act for that user; $HAMADRYAD_FOR.
	For string
	// User is the calling user; that of storage.User.
	User string
	// Auth are the user's certificate and key, and the CA of the manager's certificate; by
	// Certificate when it is empty. Without it and without Bearer, the connection is not encrypted,
	// and the manager has to trust the user's name.
	Auth certs.Files
	// Kerberos says whether submitted jobs carry the user's Kerberos ticket; by
	// $HAMADRYAD_KERBEROS, and KerberosAuto, when it is empty.
	Kerberos Kerberos
	// Bearer is the token file to use in place of a certificate; by default that of the function
	// Bearer. Auth then has the CA alone. The file is read for each call.
	Bearer string
	// Service is the manager's Kerberos service, such as hamadryad/m1.example.com, for
	// authentication by the ticket cache in place of a certificate; by default that of the function
	// Service. Auth then has the CA alone.
	Service string
	// Waiting is called once for each call and reason, when a manager answers that the call has to
	// wait, with the manager's words, or when no manager answers. nil: no report. It may be called
	// from any goroutine.
	Waiting func(why string)
}

// ErrUnreachable is matched by errors of calls that found no manager in time.
var ErrUnreachable = errors.New("no manager answers")

// Error is a refusal by the manager.
type Error struct {
	Code    codes.Code
	Message string // in the manager's words
}

func (e *Error) Error() string { return e.Message }

// Client is a connection to a manager.
type Client struct {
	conn      *transport.Conn
	manager   manager
	address   string
	options   Options
	principal *wire.Principal
	private   bool        // only the manager can read what is sent
	heard     atomic.Bool // the manager has answered once
}

// Bounds of the connection.
const (
	// replyBytesMax is the largest answer: the status of a job with all attempts of
	// a million nodes.
	replyBytesMax = 1 << 30
	retryMin      = 20 * time.Millisecond
	retryMax      = time.Second
	dialTimeout   = 2 * time.Second
	// pingEvery and pingMax detect a manager that is cut off while a stream is idle. A manager takes
	// a ping each 5 s.
	pingEvery = 10 * time.Second
	pingMax   = 10 * time.Second
)

// Dial makes a client for the manager at an address, host:port. It does not wait for the manager:
// the first call does. An empty address is DefaultAddress. For the manager of the user's current
// context, that context completes missing options.
func Dial(address string, o Options) (*Client, error) {
	address = cmp.Or(address, DefaultAddress())
	t, err := ContextTarget("")
	if err != nil {
		return nil, err
	}
	t.Fill(address, &o)
	if err := checkAddress(address); err != nil {
		return nil, err
	}
	wait, err := waitOf(os.Getenv(WaitVariable))
	if err != nil {
		return nil, err
	}
	wait = cmp.Or(o.Wait, wait)
	o.Connect = cmp.Or(wait, o.Connect, 3*time.Second)
	o.Reconnect = cmp.Or(wait, o.Reconnect, 2*time.Minute)
	o.Call = cmp.Or(o.Call, time.Minute)
	if wait > 0 {
		o.Call = min(o.Call, wait)
	}
	show, err := shownTo(address, o)
	if err != nil {
		return nil, err
	}
	if o.Kerberos, err = o.Kerberos.filled(); err != nil {
		return nil, err
	}
	o.User = cmp.Or(o.User, show.user, currentUser())
	behalf := actsFor(cmp.Or(o.For, os.Getenv(ForVariable)))
	conn := transport.New(transport.Options{
		Address: address, TLS: show.connection, Header: func(h http.Header) error { behalf.add(h); return show.add(h) },
		Connect: dialTimeout, PauseMin: retryMin, PauseMax: retryMax, PingEvery: pingEvery, PingMax: pingMax, AnswerBytesMax: replyBytesMax,
	})
	return &Client{
		conn: conn, manager: manager{conn}, address: address, options: o, private: confidential(address, show.connection != nil),
		principal: &wire.Principal{Name: o.User, Proof: "unproven"},
	}, nil
}

// currentUser is the caller where no user is given. A caller without a name may call, too.
func currentUser() string {
	name, err := storage.User()
	if err != nil {
		return cmp.Or(os.Getenv("USER"), fmt.Sprint("uid-", os.Getuid()))
	}
	return name
}

// Address is the manager's.
func (c *Client) Address() string { return c.address }

// Connect begins the connection for the first call, and does not wait for it.
func (c *Client) Connect() { c.conn.Connect() }

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// call makes one call. It retries within the bound while no manager answers, or the manager has it
// wait. It is for repeatable calls. try bounds one try; 0: no bound, as for a stream that may be
// idle.
func (c *Client) call(ctx context.Context, try time.Duration, do func(ctx context.Context) error) error {
	began, pause, said := time.Now(), retryMin, ""
	silence := c.listen(began)
	defer silence.end()
	if try > 0 {
		silence.say(began.Add(try))
	}
	for {
		err := tried(ctx, try, do)
		why := waits(err)
		if why != "" && why != said && c.options.Waiting != nil {
			c.options.Waiting(why)
			said = why
		}
		if why != "" || !isUnavailable(err) && !isSilent(ctx, err) {
			c.heard.Store(true)
		}
		if !isUnavailable(err) && !isSilent(ctx, err) {
			return plain(ctx, err)
		}
		wait := c.options.Connect
		if c.heard.Load() {
			wait = c.options.Reconnect
		}
		if why == "" {
			silence.say(began.Add(wait))
		}
		left := wait - time.Since(began)
		switch late := left <= 0; {
		case late && why != "":
			return plain(ctx, err)
		case late:
			return c.unreachable(max(wait, time.Since(began).Round(time.Second)), err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(pause, left)):
		}
		pause = min(2*pause, retryMax)
	}
}

func tried(ctx context.Context, bound time.Duration, do func(ctx context.Context) error) error {
	if bound > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, bound)
		defer cancel()
	}
	return do(ctx)
}

// waits returns the reason, in the manager's words, why it has a call wait; "" if it does not.
func waits(err error) string {
	if err == nil || !isUnavailable(err) {
		return ""
	}
	for _, d := range status.Convert(err).Details() {
		if f, ok := d.(*wire.Failure); ok {
			return f.GetMessage()
		}
	}
	return ""
}

func (c *Client) unreachable(waited time.Duration, err error) error {
	why := status.Convert(err).Message()
	if strings.Contains(why, transport.ErrSilent.Error()) {
		return fmt.Errorf("%w at %s for %v: it takes connections and says nothing; see whether that is a manager, and what its log says, or wait longer ($%s)", ErrUnreachable, c.address, waited, WaitVariable)
	}
	if strings.Contains(why, "tls: ") || strings.Contains(why, certs.ErrCertificate.Error()) || strings.Contains(why, transport.PrefaceFault) {
		return fmt.Errorf("%w at %s with which a secure connection can be made (%s): see that both have auth.mode: tls and certificates of one CA, which are not over; $%s names yours, and the manager's log says what it refuses. One without a certificate needs a token ($%s), and a manager that has auth.oidc, or a Kerberos ticket and that manager's service ($%s)",
			ErrUnreachable, c.address, why, CertificateVariable, BearerVariable, ServiceVariable)
	}
	return fmt.Errorf("%w at %s for %v (%s): start one with \"hamadryad serve manager\", name another with --manager HOST:PORT or $%s, put \"hamadryad local --\" before the command, or wait longer for one ($%s)",
		ErrUnreachable, c.address, waited, why, AddressVariable, WaitVariable)
}

func isUnavailable(err error) bool { return status.Code(err) == codes.Unavailable }

// isSilent reports whether a try ended by its own bound, not by the caller's context.
func isSilent(ctx context.Context, err error) bool {
	return ctx.Err() == nil && (status.Code(err) == codes.DeadlineExceeded || errors.Is(err, context.DeadlineExceeded))
}

// plain turns a gRPC error into an error in the manager's words.
func plain(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	if ctx.Err() != nil && (s.Code() == codes.Canceled || s.Code() == codes.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	return &Error{Code: s.Code(), Message: s.Message()}
}

func hasCode(err error, code codes.Code) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// StateName is a job state as people read it.
func StateName(s wire.JobState) string {
	return wire.StateName(s)
}

// Ended reports whether a job in that state changes no more.
func Ended(s wire.JobState) bool {
	return wire.JobOver(s)
}
