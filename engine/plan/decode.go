package plan

import (
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/plan/declared"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// decode reads a Blob message front to back, without the whole message in memory. It makes no
// messages of its splits, perhaps a million: they would take four times the memory of the splits
// themselves, and most of the time. It reads the blob twice, since the names that splits refer to
// stand behind them.
func decode(open func() (io.Reader, error)) (*Submission, error) {
	d := &decoder{p: &Submission{Inputs: [][]job.Task{}}}
	s := newSource(BytesMax)
	for _, field := range []func(s *source, number protowire.Number, length int64) error{d.rest, d.inputs} {
		r, err := open()
		if err != nil {
			return nil, err
		}
		s.begin(r)
		err = s.fields(whole, func(number protowire.Number, length int64) error { return field(s, number, length) })
		if err != nil {
			return nil, err
		}
	}
	return d.p, nil
}

// decoder holds the results of the first reading for the second.
type decoder struct {
	p      *Submission
	names  tables
	counts []counts // of each input
}

// rest reads everything but the inputs, which it counts.
func (d *decoder) rest(s *source, number protowire.Number, length int64) error {
	if number == inputsField {
		c, err := count(s, length)
		d.counts = append(d.counts, c)
		return err
	}
	b, err := s.bytes(length)
	if err != nil {
		return err
	}
	switch number {
	case 1:
		d.p.Name = string(b)
	case 2:
		d.p.Args = append(d.p.Args, string(b))
	case 4:
		d.p.Folders = append(d.p.Folders, string(b))
	case 5:
		d.names.hosts = append(d.names.hosts, string(b))
	case 6:
		d.names.racks = append(d.names.racks, string(b))
	case 7:
		d.names.folders = append(d.names.folders, string(b))
	case 8:
		f, err := decodeFile(b)
		d.p.Files = append(d.p.Files, f)
		return err
	case 9:
		d.p.Channels = string(b)
	case 10:
		return decodeMemory(d.p, b)
	case 11, 13:
		return decodeSetting(d.p, number, b)
	case 12:
		d.p.Arguments = append(d.p.Arguments, string(b))
	case 14:
		d.p.Shape = append(d.p.Shape, string(b))
	case 15:
		d.p.Elements = string(b)
	default:
		return fmt.Errorf("field %d is unknown", number)
	}
	return nil
}

// inputsField is the number of Blob's inputs.
const inputsField = 3

// inputs reads the inputs.
func (d *decoder) inputs(s *source, number protowire.Number, length int64) error {
	if number != inputsField {
		return nil
	}
	input, err := d.names.input(s, length, d.counts[len(d.p.Inputs)])
	d.p.Inputs = append(d.p.Inputs, input)
	return err
}

func decodeMemory(p *Submission, message []byte) error {
	var m StageMemory
	if err := proto.Unmarshal(message, &m); err != nil {
		return err
	}
	if p.Memory == nil {
		p.Memory = Memory{}
	}
	p.Memory[m.Stage] = m.Bytes
	return nil
}

// decodeSetting reads a flag's value (11) or a variable (13).
func decodeSetting(p *Submission, number protowire.Number, message []byte) error {
	var s Setting
	if err := proto.Unmarshal(message, &s); err != nil {
		return err
	}
	if number == 11 {
		p.Flags = append(p.Flags, declared.Setting{Name: s.Name, Value: string(s.Value)})
		return nil
	}
	p.Environment = append(p.Environment, Variable{Name: s.Name, Value: string(s.Value), Unset: s.Unset})
	return nil
}

func decodeFile(message []byte) (LocalFile, error) {
	var f LocalFile
	err := fields(message, func(number protowire.Number, n uint64, b []byte) error {
		switch number {
		case 1:
			f.Path = string(b)
		case 2:
			f.Executable = n != 0
		case 3:
			f.Data = append([]byte(nil), b...)
		}
		return nil
	})
	return f, err
}

// tables are the names that splits refer to by index.
type tables struct{ hosts, racks, folders []string }

// counts are the sizes of an input. Each counts elements that were read, not a claimed length.
type counts struct{ tasks, splits, places int }

// count counts the elements in the next bytes of an input.
func count(s *source, length int64) (c counts, err error) {
	err = eachSplit(s, length, func() { c.tasks++ }, func(split []byte) error {
		c.splits++
		return fields(split, func(number protowire.Number, _ uint64, _ []byte) error {
			if number == 7 {
				c.places++
			}
			return nil
		})
	})
	return c, err
}

// eachSplit calls task before the splits of each task of an input, and split with each split.
func eachSplit(s *source, length int64, task func(), split func([]byte) error) error {
	return s.fields(s.at+length, func(_ protowire.Number, length int64) error {
		task()
		return s.fields(s.at+length, func(_ protowire.Number, length int64) error {
			b, err := s.bytes(length)
			if err != nil {
				return err
			}
			return split(b)
		})
	})
}

// room is the memory of an input's splits: one slice for each type.
type room struct {
	splits []job.Split
	places []job.Place
}

// input reads the tasks of one Files call.
func (t *tables) input(s *source, length int64, c counts) ([]job.Task, error) {
	tasks := make([]job.Task, 0, c.tasks)
	r := room{splits: make([]job.Split, 0, c.splits), places: make([]job.Place, 0, c.places)}
	first := 0
	end := func() { // ends the current task
		if n := len(tasks); n > 0 {
			tasks[n-1] = r.splits[first:len(r.splits):len(r.splits)]
		}
		first = len(r.splits)
	}
	err := eachSplit(s, length, func() { end(); tasks = append(tasks, nil) }, func(split []byte) error { return t.split(&r, split) })
	end()
	return tasks, err
}

// split reads one split and appends it to the room's. Neighbours are mostly of one file, and share
// its path and version.
func (t *tables) split(r *room, message []byte) error {
	var s job.Split
	var folder uint64
	var file, version []byte
	first := len(r.places)
	err := fields(message, func(number protowire.Number, n uint64, b []byte) error {
		switch number {
		case 1:
			folder = n
		case 2:
			file = b
		case 3:
			s.Offset = int64(n)
		case 4:
			s.Length = int64(n)
		case 5:
			s.Size = int64(n)
		case 6:
			version = b
		case 7:
			return t.place(r, b)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if folder >= uint64(len(t.folders)) {
		return fmt.Errorf("a split of %q names folder %d of %d", file, folder, len(t.folders))
	}
	var before job.Split
	if n := len(r.splits); n > 0 {
		before = r.splits[n-1]
	}
	name := t.folders[folder]
	if s.Path = before.Path; len(s.Path) != len(name)+len(file) || s.Path[:len(name)] != name || s.Path[len(name):] != string(file) {
		s.Path = name + string(file)
	}
	if s.Version = before.Version; s.Version != string(version) {
		s.Version = string(version)
	}
	if n := len(r.places); n > first {
		s.Places = r.places[first:n:n]
	}
	r.splits = append(r.splits, s)
	return nil
}

func (t *tables) place(r *room, message []byte) error {
	var host, rack, bytes uint64
	err := fields(message, func(number protowire.Number, n uint64, _ []byte) error {
		switch number {
		case 1:
			host = n
		case 2:
			rack = n
		case 3:
			bytes = n
		}
		return nil
	})
	if err != nil {
		return err
	}
	if host >= uint64(len(t.hosts)) || rack >= uint64(len(t.racks)) {
		return errors.New("a split names an unknown place")
	}
	r.places = append(r.places, job.Place{Host: t.hosts[host], Rack: t.racks[rack], Bytes: int64(bytes)})
	return nil
}

// fields calls f with each field of a message: a number, or bytes that alias the message. The
// messages of a plan have no other field types.
func fields(message []byte, f func(number protowire.Number, n uint64, b []byte) error) error {
	for len(message) > 0 {
		number, kind, length := protowire.ConsumeTag(message)
		if length < 0 {
			return protowire.ParseError(length)
		}
		message = message[length:]
		var n uint64
		var b []byte
		switch kind {
		case protowire.VarintType:
			n, length = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			b, length = protowire.ConsumeBytes(message)
		default:
			return fmt.Errorf("field %d has the wire type %d", number, kind)
		}
		if length < 0 {
			return protowire.ParseError(length)
		}
		message = message[length:]
		if err := f(number, n, b); err != nil {
			return err
		}
	}
	return nil
}
