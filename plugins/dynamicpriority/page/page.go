// Package page writes the answers of the policy dynamic-priority at /scheduler, as the XML of its
// document, or as JSON.
//
//	<QueueInfo>
//	  <host>myhost</host>
//	  <price>12.249998</price>
//	</QueueInfo>
//
// Names are escaped, so that an answer is always well-formed.
package page

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"math/bits"
	"strconv"
	"strings"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// The statuses of answers, which are those of HTTP.
const (
	OK          = 200
	BadRequest  = 400
	Forbidden   = 403
	NotFound    = 404
	Conflict    = 409
	Refused     = 500 // the document's status for a denied caller
	Unavailable = 503
)

// shareDecimals are the digits that a share is shown with.
const shareDecimals = 9

const shareUnit = 1_000_000_000

// queryShownMax bounds how much of a query an answer repeats, in bytes.
const queryShownMax = 1 << 10

// Info is one answer. Nil fields are omitted.
type Info struct {
	Host   string  `json:"host"`
	Start  *int64  `json:"start,omitempty"` // in milliseconds since the epoch
	Time   *int64  `json:"time,omitempty"`  // in milliseconds since the epoch
	Price  *Number `json:"price,omitempty"`
	Queues []Queue `json:"queues,omitempty"`
}

// Queue is a queue in an Info.
type Queue struct {
	Name     string `json:"name"`
	Budget   Number `json:"budget"`
	Spending Number `json:"spending"`
	Share    Number `json:"share"`
	Used     int    `json:"used"`
	Pending  int    `json:"pending"`
}

// Number is a decimal, written digit by digit.
type Number string

// MarshalJSON writes the number as a JSON number.
func (n Number) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// Amount formats a number of credits.
func Amount(a money.Amount) Number { return Number(a.String()) }

// Share formats part ÷ whole, which is at most 1; 0 if whole is 0.
func Share(part, whole money.Amount) Number {
	if whole == 0 {
		return "0.0"
	}
	high, low := bits.Mul64(uint64(part), 2*shareUnit) //nolint:gosec // shares are of what is paid, which is not negative
	twice, _ := bits.Div64(high, low, uint64(whole))   //nolint:gosec // and no more than the whole
	digits := strconv.FormatUint(shareUnit+(twice+1)/2, 10)
	short := strings.TrimRight(digits[len(digits)-shareDecimals:], "0")
	if short == "" {
		short = "0"
	}
	return Number(strconv.FormatUint((twice+1)/2/shareUnit, 10) + "." + short)
}

// Answer encodes the info as an XML or JSON answer.
func (i Info) Answer(asJSON bool) scheduler.Answer {
	a := scheduler.Answer{Status: OK, ContentType: "text/xml; charset=utf-8"}
	if asJSON {
		a = inJSON(OK, i)
	} else {
		a.Body = i.xml()
	}
	if len(a.Body) > scheduler.PageBytesMax {
		return Failure(Refused, "the answer has more bytes than can be sent: ask for queues one by one", asJSON)
	}
	return a
}

// queueBytes is roughly the size of a queue's XML, in bytes.
const queueBytes = 220

// xml writes the XML by hand: rounds wait while thousands of queues are shown, and encoding/xml
// takes four times as long.
func (i Info) xml() []byte {
	var b bytes.Buffer
	element := func(indent, name, text string) {
		for _, part := range [...]string{indent, "<", name, ">", text, "</", name, ">\n"} {
			b.WriteString(part)
		}
	}
	b.Grow((len(i.Queues) + 1) * queueBytes)
	b.WriteString("<QueueInfo>\n")
	element("  ", "host", escaped(i.Host))
	if i.Start != nil {
		element("  ", "start", strconv.FormatInt(*i.Start, 10))
	}
	if i.Time != nil {
		element("  ", "time", strconv.FormatInt(*i.Time, 10))
	}
	if i.Price != nil {
		element("  ", "price", string(*i.Price))
	}
	for _, q := range i.Queues {
		b.WriteString("  <queue name=\"")
		b.WriteString(escaped(q.Name))
		b.WriteString("\">\n")
		element("    ", "budget", string(q.Budget))
		element("    ", "spending", string(q.Spending))
		element("    ", "share", string(q.Share))
		element("    ", "used", strconv.Itoa(q.Used))
		element("    ", "pending", strconv.Itoa(q.Pending))
		b.WriteString("  </queue>\n")
	}
	b.WriteString("</QueueInfo>\n")
	return b.Bytes()
}

// escaped escapes a text for XML; characters that XML can't hold become U+FFFD.
func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder never fails
	return b.String()
}

// Denied answers a caller without the right, or without authentication. As XML it has only the
// query, as in the document. As JSON it has the plain HTTP status, which differs for authenticated
// callers.
func Denied(query string, asJSON, proven bool) scheduler.Answer {
	if !asJSON {
		shown := scheduler.Printable(query[:min(len(query), queryShownMax)])
		return scheduler.Answer{Status: Refused, ContentType: plain, Body: []byte("ACCESS DENIED: " + shown + "\n")}
	}
	status := 401
	if proven {
		status = Forbidden
	}
	return Failure(status, "access denied", true)
}

const plain = "text/plain; charset=utf-8"

// Failure answers with a message of one line.
func Failure(status int, message string, asJSON bool) scheduler.Answer {
	message = scheduler.Printable(message)
	if asJSON {
		return inJSON(status, struct {
			Error string `json:"error"`
		}{message})
	}
	return scheduler.Answer{Status: status, ContentType: plain, Body: []byte(message + "\n")}
}

func inJSON(status int, v any) scheduler.Answer {
	body, err := json.Marshal(v)
	if err != nil { // text and numbers always encode
		return scheduler.Answer{Status: Refused, ContentType: plain, Body: []byte(err.Error() + "\n")}
	}
	return scheduler.Answer{Status: status, ContentType: "application/json", Body: append(body, '\n')}
}
