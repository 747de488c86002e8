package jobfile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// Encode returns the content of a file. Attempts may be in any order. If an id occurs twice, the last one is used.
func Encode(j *Job) ([]byte, error) {
	order := inOrder(j.Attempts)
	h := &head{Job: j.ID, Record: j.Record, Ended: j.Status != nil, Graphed: j.Graph != nil, Kept: uint64(len(order))}
	h.Total = max(j.Course.Attempts, h.Kept)
	n := &names{}
	parts := make([][]byte, blocksAt)
	rows := make([]changes.Attempt, 0, min(len(order), blockRows))
	for places := range slices.Chunk(order, blockRows) {
		rows = rows[:0]
		for _, i := range places {
			rows = append(rows, j.Attempts[i])
		}
		h.Blocks = append(h.Blocks, blockOf(rows))
		parts = append(parts, appendRows(nil, rows, n))
	}
	var wrong [4]error
	parts[statusAt], wrong[0] = proto.Marshal(WithoutAttempts(j.Status))
	parts[graphAt], wrong[1] = proto.Marshal(j.Graph)
	parts[courseAt], wrong[2] = json.Marshal(&j.Course)
	parts[namesAt], wrong[3] = json.Marshal(n)
	if err := errors.Join(wrong[:]...); err != nil {
		return nil, fmt.Errorf("encode the history of %s: %w", j.ID, err)
	}
	var body []byte
	for i, s := range h.sections() {
		body, *s = Pack(body, parts[i])
	}
	b, err := AppendHead(nil, magic, h)
	return append(b, body...), err
}

// inOrder lists the indexes of attempts in order of their ids, for each id the last one.
func inOrder(all []changes.Attempt) []int32 {
	order := make([]int32, len(all))
	for i := range order {
		order[i] = int32(len(all) - 1 - i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(all[a].ID, all[b].ID) })
	return slices.CompactFunc(order, func(a, b int32) bool { return all[a].ID == all[b].ID })
}

// WithoutAttempts copies a status without its attempts. The copy shares all other fields.
func WithoutAttempts(s *wire.JobStatus) *wire.JobStatus {
	short := &wire.JobStatus{}
	s.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if field.Name() != "attempts" {
			short.ProtoReflect().Set(field, v)
		}
		return true
	})
	return short
}
