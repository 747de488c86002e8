package show

import (
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/eventlog"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// EventLog prints a file of the event log, a batch a line.
func (c *Printer) EventLog(file string) error {
	s, err := eventlog.ReadSegment(file)
	if err != nil {
		return err
	}
	out := json.NewEncoder(c.Out)
	err = out.Encode(struct {
		File       string          `json:"file"`
		Header     eventlog.Header `json:"header"`
		Checkpoint int             `json:"checkpoint_bytes"`
		First      uint64          `json:"first"`
		Records    int             `json:"records"`
		Closed     bool            `json:"closed"`
		Torn       int64           `json:"torn_bytes"`
	}{file, s.Header, s.CheckpointBytes(), s.First, len(s.Records), s.Closed, s.Torn})
	for i, record := range s.Records {
		if err != nil {
			return err
		}
		err = c.printBatch(out, s.First+uint64(i), record)
	}
	return err
}

func (c *Printer) printBatch(out *json.Encoder, number uint64, record []byte) error {
	batch := &wire.Batch{}
	if err := proto.Unmarshal(record, batch); err != nil {
		return fmt.Errorf("record %d is no batch: %w", number, err)
	}
	line := struct {
		Number uint64            `json:"number"`
		At     string            `json:"at"`
		Inputs []json.RawMessage `json:"inputs"`
		Answer any               `json:"decisions,omitempty"` // of the batch's last answer by the policy, readable
	}{Number: number, At: time.Unix(0, batch.At).UTC().Format(time.RFC3339Nano)}
	for _, in := range batch.Inputs {
		if a := in.GetPolicyAnswer(); a != nil {
			if d, err := schedwire.DecodeDecisions(a.Decisions); err == nil {
				line.Answer = d
			}
		}
		b, err := shortJSON(in)
		if err != nil {
			return err
		}
		line.Inputs = append(line.Inputs, b)
	}
	return out.Encode(line)
}
