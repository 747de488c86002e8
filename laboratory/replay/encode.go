package replay

import (
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// Numbers of fields in wire's messages.
const (
	batchAt, batchInputs           = 1, 2
	inputReport                    = 7
	launcherID, launcherReport     = 1, 2
	reportIncarnation, reportTerm  = 1, 2
	reportProgress                 = 5
	progressAttempt, progressShare = 1, 2
	progressWork, progressIdle     = 3, 4
	progressBlocked, progressReads = 5, 6
	workRunning, workRead          = 1, 2
	workToRead, workWritten        = 3, 4
	workMemory, workChannels       = 5, 6
)

// appendBatch appends what encoding.Marshal makes of a batch. Most inputs are reports of progress.
// These are written here, which takes a fraction of the time.
func appendBatch(to []byte, b *wire.Batch) ([]byte, error) {
	var err error
	to = appendVarint(to, batchAt, uint64(b.GetAt())) //nolint:gosec // as protobuf has it
	for _, in := range b.GetInputs() {
		to = appendMessage(to, batchInputs, func(to []byte) []byte {
			if r := in.GetReport(); r.GetReport().GetProgress() != nil {
				return appendMessage(to, inputReport, func(to []byte) []byte { return appendReport(to, r) })
			}
			if to, err = encoding.MarshalAppend(to, in); err != nil {
				return nil
			}
			return to
		})
		if err != nil {
			return nil, err
		}
	}
	return to, nil
}

// appendReport appends a launcher's report of progress.
func appendReport(to []byte, r *wire.LauncherReport) []byte {
	to = appendVarint(to, launcherID, r.Launcher)
	return appendMessage(to, launcherReport, func(to []byte) []byte {
		to = appendVarint(to, reportIncarnation, r.Report.Incarnation)
		to = appendVarint(to, reportTerm, r.Report.Term)
		return appendMessage(to, reportProgress, func(to []byte) []byte { return appendProgress(to, r.Report.GetProgress()) })
	})
}

func appendProgress(to []byte, p *wire.AttemptProgress) []byte {
	to = appendVarint(to, progressAttempt, p.Attempt)
	if bits := math.Float64bits(p.Progress); bits != 0 {
		to = protowire.AppendFixed64(protowire.AppendTag(to, progressShare, protowire.Fixed64Type), bits)
	}
	if p.Work != nil {
		to = appendMessage(to, progressWork, func(to []byte) []byte { return appendWork(to, p.Work) })
	}
	to = appendVarint(to, progressIdle, uint64(p.IdleNs)) //nolint:gosec // as protobuf has it
	if p.Blocked != "" {
		to = protowire.AppendString(protowire.AppendTag(to, progressBlocked, protowire.BytesType), p.Blocked)
	}
	return appendVarint(to, progressReads, protowire.EncodeBool(p.ReadsOnly))
}

func appendWork(to []byte, w *wire.Work) []byte {
	to = appendVarint(to, workRunning, uint64(w.RunningNs)) //nolint:gosec // as protobuf has it
	to = appendList(to, workRead, w.Read)
	to = appendVarint(to, workToRead, uint64(w.ToRead))     //nolint:gosec // as protobuf has it
	to = appendVarint(to, workWritten, uint64(w.Written))   //nolint:gosec // as protobuf has it
	to = appendVarint(to, workMemory, uint64(w.PeakMemory)) //nolint:gosec // as protobuf has it
	return appendList(to, workChannels, w.ChannelBytes)
}

// appendVarint appends a field, unless it is 0.
func appendVarint(to []byte, field protowire.Number, v uint64) []byte {
	if v == 0 {
		return to
	}
	return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.VarintType), v)
}

// appendList appends a packed list, unless it is empty.
func appendList(to []byte, field protowire.Number, list []int64) []byte {
	if len(list) == 0 {
		return to
	}
	return appendMessage(to, field, func(to []byte) []byte {
		for _, v := range list {
			to = protowire.AppendVarint(to, uint64(v)) //nolint:gosec // as protobuf has it
		}
		return to
	})
}

// appendMessage appends a field with a length in front. Most have one byte of length.
func appendMessage(to []byte, field protowire.Number, content func([]byte) []byte) []byte {
	to = append(protowire.AppendTag(to, field, protowire.BytesType), 0)
	at := len(to)
	to = content(to)
	n := len(to) - at
	if n < 0x80 {
		to[at-1] = byte(n)
		return to
	}
	return slices.Replace(to, at-1, at, protowire.AppendVarint(nil, uint64(n))...)
}
