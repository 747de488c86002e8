package plan

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// decode reads a Blob message without making messages of its million splits: those
// take four times the memory of the splits themselves, and most of the time.
func decode(message []byte) (*Plan, error) {
	p := &Plan{}
	var names tables
	var inputs [][]byte
	err := fields(message, func(number protowire.Number, _ uint64, b []byte) error {
		switch number {
		case 1:
			p.Name = string(b)
		case 2:
			p.Args = append(p.Args, string(b))
		case 3:
			inputs = append(inputs, b)
		case 4:
			p.Folders = append(p.Folders, string(b))
		case 5:
			names.hosts = append(names.hosts, string(b))
		case 6:
			names.racks = append(names.racks, string(b))
		case 7:
			names.folders = append(names.folders, string(b))
		case 8:
			f, err := decodeFile(b)
			p.Files = append(p.Files, f)
			return err
		case 9:
			p.Channels = string(b)
		case 10:
			return decodeMemory(p, b)
		default:
			return fmt.Errorf("field %d is unknown", number)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	p.Inputs = make([][]job.Task, len(inputs))
	for i, b := range inputs {
		if p.Inputs[i], err = names.input(b); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func decodeMemory(p *Plan, message []byte) error {
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

// tables are the names that splits refer to by position.
type tables struct{ hosts, racks, folders []string }

// room is what an input's splits lie in: one piece of memory for each sort.
type room struct {
	splits []job.Split
	places []job.Place
}

// input reads the tasks of one Files call.
func (t *tables) input(message []byte) ([]job.Task, error) {
	var counts struct{ tasks, splits, places int }
	// What will be read is counted first, and each count is of bytes that are there.
	err := fields(message, func(number protowire.Number, _ uint64, task []byte) error {
		counts.tasks++
		return fields(task, func(_ protowire.Number, _ uint64, split []byte) error {
			counts.splits++
			return fields(split, func(number protowire.Number, _ uint64, _ []byte) error {
				if number == 7 {
					counts.places++
				}
				return nil
			})
		})
	})
	if err != nil {
		return nil, err
	}
	tasks := make([]job.Task, 0, counts.tasks)
	r := room{splits: make([]job.Split, 0, counts.splits), places: make([]job.Place, 0, counts.places)}
	err = fields(message, func(_ protowire.Number, _ uint64, task []byte) error {
		first := len(r.splits)
		err := fields(task, func(_ protowire.Number, _ uint64, split []byte) error { return t.split(&r, split) })
		tasks = append(tasks, r.splits[first:len(r.splits):len(r.splits)])
		return err
	})
	return tasks, err
}

// split reads one split to the end of the room's. Neighbours mostly are of one file, and
// share its path and version.
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

// fields calls f with each field of a message: a number, or bytes that alias it. The
// messages of a plan have no others.
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
