// Package control reads requests to the policy dynamic-priority at /scheduler. A request is a query
// such as setSpending=0.01&queue=myqueue, from a caller with a proven name and role.
//
//	r, err := control.Parse("addBudget=100.5&queue=bob")
//	if err == nil {
//		r, err = r.For(control.Principal{Name: "root", Role: control.Admin})
//	}
//
// It knows no signatures and no keys: the caller was authenticated before.
package control

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
)

// queryMax bounds a query, in bytes.
const queryMax = 4 << 10

// Role is a caller's set of rights.
type Role uint8

// The roles.
const (
	Nobody Role = iota // not authenticated: may see price and time
	User               // may see its own queue, and set its spending rate
	Admin              // may do everything, to all queues
)

// ParseRole reads the name of a role: user, admin, or none at all.
func ParseRole(name string) (Role, error) {
	switch name {
	case "":
		return Nobody, nil
	case "user":
		return User, nil
	case "admin":
		return Admin, nil
	}
	return Nobody, fmt.Errorf("%q is no role: use user or admin", name)
}

// Principal is an authenticated caller.
type Principal struct {
	Name string
	Role Role
}

// Verb is the requested operation.
type Verb uint8

// The verbs. Those from SetSpending on change something.
const (
	Price Verb = iota + 1
	Time
	Info
	Infos
	SetSpending
	AddBudget
	AddQueue
	RemoveQueue
)

// verbs are the verbs' names in a query.
var verbs = map[string]Verb{
	"price": Price, "time": Time, "info": Info, "infos": Infos,
	"setSpending": SetSpending, "addBudget": AddBudget, "addQueue": AddQueue, "removeQueue": RemoveQueue,
}

// Request is a parsed query.
type Request struct {
	Verb   Verb
	Queue  string       // "" is the caller's own, until For sets it
	Amount money.Amount // of SetSpending and AddBudget
}

// Changes reports whether the request changes anything.
func (r Request) Changes() bool { return r.Verb >= SetSpending }

// ErrDenied is the error for a caller without the right.
var ErrDenied = errors.New("access denied")

// Parse parses a query, percent-escaped as in a URL. It ignores user and timestamp, which are part
// of the proof. The error says what is wrong.
func Parse(query string) (Request, error) {
	if len(query) > queryMax {
		return Request{}, fmt.Errorf("the query has %d bytes: at most %d are read", len(query), queryMax)
	}
	r := Request{}
	var value string
	said := map[string]string{}
	for pair := range strings.SplitSeq(query, "&") {
		escaped, rest, _ := strings.Cut(pair, "=")
		name, err := unescape(escaped)
		if err != nil {
			return Request{}, err
		}
		text, err := unescape(rest)
		if err != nil {
			return Request{}, err
		}
		if _, twice := said[name]; twice {
			return Request{}, fmt.Errorf("%q is there twice", name)
		}
		said[name] = text
		switch verb := verbs[name]; {
		case verb != 0 && r.Verb != 0:
			return Request{}, errors.New("it asks for several things: ask for one at a time")
		case verb != 0:
			r.Verb, value = verb, text
		case name != "queue" && name != "user" && name != "timestamp" && pair != "":
			return Request{}, fmt.Errorf("%q is unknown: there are price, time, info, infos, setSpending, addBudget, addQueue and removeQueue", name)
		}
	}
	if r.Verb == 0 {
		return Request{}, errors.New("it asks for nothing: there are price, time, info, infos, setSpending, addBudget, addQueue and removeQueue")
	}
	queue, named := said["queue"]
	return r.with(value, queue, named)
}

// with sets the verb's value and the queue.
func (r Request) with(value, queue string, named bool) (Request, error) {
	var err error
	switch r.Verb {
	case SetSpending, AddBudget:
		if r.Amount, err = money.Parse(value); err != nil {
			return Request{}, err
		}
		if r.Verb == SetSpending {
			err = account.CheckSpending(r.Amount)
		}
		r.Queue = queue
	case Info, AddQueue, RemoveQueue:
		if named {
			return Request{}, errors.New("the queue stands behind the verb, as in info=myqueue")
		}
		r.Queue = value
	case Price, Time, Infos:
		if named || value != "" {
			return Request{}, errors.New("price, time and infos are of all queues: leave the queue out")
		}
	}
	needed := r.Verb == AddQueue || r.Verb == RemoveQueue || r.Verb == AddBudget || named
	if err == nil && (needed || r.Queue != "") {
		err = account.CheckName(r.Queue)
	}
	if err != nil {
		return Request{}, err
	}
	return r, nil
}

// For sets the queue for a caller. If the caller may not make the request, it returns ErrDenied.
func (r Request) For(who Principal) (Request, error) {
	switch r.Verb {
	case Price, Time:
		return r, nil
	case Info, SetSpending:
		if r.Queue == "" {
			r.Queue = who.Name
		}
		if who.Role == Admin || who.Role == User && r.Queue == who.Name {
			return r, nil
		}
	default:
		if who.Role == Admin {
			return r, nil
		}
	}
	return Request{}, ErrDenied
}

// unescape decodes the escapes of a URL's query.
func unescape(text string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '+':
			b.WriteByte(' ')
		case c != '%':
			b.WriteByte(c)
		case i+2 >= len(text) || digit(text[i+1]) < 0 || digit(text[i+2]) < 0:
			return "", fmt.Errorf("%.64q: a %% is followed by two hexadecimal digits", text)
		default:
			b.WriteByte(byte(digit(text[i+1])<<4 | digit(text[i+2])))
			i += 2
		}
	}
	return b.String(), nil
}

// digit returns the value of a hexadecimal digit, or -1.
func digit(c byte) int {
	if 'A' <= c && c <= 'F' {
		c += 'a' - 'A'
	}
	return strings.IndexByte("0123456789abcdef", c)
}
