package show

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/eventlog"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// headerView is the head of a file of the event log.
type headerView struct {
	Core     int        `json:"core"` // version of the core that wrote it
	Identity string     `json:"identity"`
	Term     uint64     `json:"term"`
	Created  time.Time  `json:"created"`
	Began    *time.Time `json:"began,omitempty"` // when the whole log did
}

// segmentView is a file of the event log, without its records.
type segmentView struct {
	File            string     `json:"file"`
	Header          headerView `json:"header"`
	CheckpointBytes int        `json:"checkpointBytes"`
	First           uint64     `json:"first"`
	Records         int        `json:"records"`
	Closed          bool       `json:"closed"`
	TornBytes       int64      `json:"tornBytes"`
}

// batchView is a record of the event log.
type batchView struct {
	Number    uint64            `json:"number"`
	At        time.Time         `json:"at"`
	Inputs    []json.RawMessage `json:"inputs"`
	Decisions json.RawMessage   `json:"decisions,omitempty"` // of the batch's last answer by the policy
}

// EventLog prints a file of the event log as JSON, a batch a line. Inputs and decisions are the
// records as they are, with numbers for ids and moments.
func (c *Printer) EventLog(file string) error {
	s, err := eventlog.ReadSegment(file)
	if err != nil {
		return err
	}
	h := headerView{Core: s.Header.Core, Identity: s.Header.Identity, Term: s.Header.Term, Created: time.Unix(0, s.Header.Created).UTC()}
	if s.Header.Began != 0 {
		began := time.Unix(0, s.Header.Began).UTC()
		h.Began = &began
	}
	out := json.NewEncoder(c.Out)
	err = out.Encode(segmentView{file, h, s.CheckpointBytes(), s.First, len(s.Records), s.Closed, s.Torn})
	for i, record := range s.Records {
		if err != nil {
			return err
		}
		err = printBatch(out, s.First+uint64(i), record)
	}
	return err
}

func printBatch(out *json.Encoder, number uint64, record []byte) error {
	batch := &wire.Batch{}
	if err := proto.Unmarshal(record, batch); err != nil {
		return fmt.Errorf("record %d is no batch: %w", number, err)
	}
	line := batchView{Number: number, At: time.Unix(0, batch.At).UTC()}
	for _, in := range batch.Inputs {
		if a := in.GetPolicyAnswer(); a != nil {
			if d, err := schedwire.DecodeDecisions(a.Decisions); err == nil {
				if line.Decisions, err = camelJSON(d); err != nil {
					return err
				}
			}
		}
		b, err := marshalJSON(in, false)
		if err != nil {
			return err
		}
		line.Inputs = append(line.Inputs, b)
	}
	return out.Encode(line)
}

// goName matches the name of a Go field as a JSON name, with the preceding character. In a JSON
// string each quotation mark has a backslash before it, so none matches there.
var goName = regexp.MustCompile(`([{,])"([A-Z]+)(\w*)":`)

// camelJSON writes a value whose types have no JSON names, in camelCase.
func camelJSON(v any) (json.RawMessage, error) {
	b, err := json.Marshal(v)
	return goName.ReplaceAllFunc(b, func(name []byte) []byte {
		m := goName.FindSubmatch(name)
		capitals := len(m[2])
		if capitals > 1 && len(m[3]) > 0 {
			capitals-- // the last begins the next word
		}
		return fmt.Appendf(nil, "%s\"%s%s%s\":", m[1], strings.ToLower(string(m[2][:capitals])), m[2][capitals:], m[3])
	}), err
}
