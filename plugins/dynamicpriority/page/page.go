// Package page writes the answers of the policy dynamic-priority at /scheduler, as the XML of
// its document, or as JSON.
//
//	<QueueInfo>
//	  <host>myhost</host>
//	  <price>12.249998</price>
//	</QueueInfo>
//
// Names are escaped, so that an answer is well-formed whatever they are.
package page

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"math/big"
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
	Refused     = 500 // what the document has for who is not let in
	Unavailable = 503
)

// shareDecimals are the digits that a share is shown with.
const shareDecimals = 9

// queryShownMax bounds how much of a query an answer repeats, in bytes.
const queryShownMax = 1 << 10

// Info is one answer. What is nil is left out.
type Info struct {
	XMLName xml.Name `json:"-"               xml:"QueueInfo"`
	Host    string   `json:"host"            xml:"host"`
	Start   *int64   `json:"start,omitempty" xml:"start"` // in milliseconds since the epoch
	Time    *int64   `json:"time,omitempty"  xml:"time"`  // in milliseconds since the epoch
	Price   *Number  `json:"price,omitempty" xml:"price"`
	Queues  []Queue  `json:"queues,omitempty" xml:"queue"`
}

// Queue is one queue of it.
type Queue struct {
	Name     string `json:"name"     xml:"name,attr"`
	Budget   Number `json:"budget"   xml:"budget"`
	Spending Number `json:"spending" xml:"spending"`
	Share    Number `json:"share"    xml:"share"`
	Used     int    `json:"used"     xml:"used"`
	Pending  int    `json:"pending"  xml:"pending"`
}

// Number is a decimal, written digit by digit.
type Number string

// MarshalJSON writes the number as one of JSON.
func (n Number) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// Amount is a number of credits.
func Amount(a money.Amount) Number { return Number(a.String()) }

// Share is a part of a whole; 0 of nothing.
func Share(part, whole money.Amount) Number {
	if whole == 0 {
		return "0.0"
	}
	digits := big.NewRat(int64(part), int64(whole)).FloatString(shareDecimals)
	short := strings.TrimRight(digits, "0")
	if strings.HasSuffix(short, ".") {
		short += "0"
	}
	return Number(short)
}

// Answer returns the answer with an info, as XML or as JSON.
func (i Info) Answer(asJSON bool) scheduler.Answer {
	if asJSON {
		return inJSON(OK, i)
	}
	var b bytes.Buffer
	e := xml.NewEncoder(&b)
	e.Indent("", "  ")
	if err := e.Encode(i); err != nil { // of text and numbers alone it never is
		return Failure(Refused, err.Error(), false)
	}
	b.WriteByte('\n')
	return scheduler.Answer{Status: OK, ContentType: "text/xml; charset=utf-8", Body: b.Bytes()}
}

// Denied answers who may not ask that, or did not prove who asks: with the query and nothing
// else, as the document has it, or the plain status for one who reads JSON, of whom it is known
// who asks, or not.
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

// Failure answers with what is wrong, in a line.
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
	if err != nil { // of text and numbers alone it never is
		return scheduler.Answer{Status: Refused, ContentType: plain, Body: []byte(err.Error() + "\n")}
	}
	return scheduler.Answer{Status: status, ContentType: "application/json", Body: append(body, '\n')}
}
