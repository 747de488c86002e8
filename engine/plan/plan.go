// Package plan carries a job's graph from the submitter to its workers.
//
// Two things travel. The graph itself goes to the manager as messages (Graph), with the size and
// the places of each node's stored input, for scheduling. The plan goes to the workers as a blob
// (Encode, Decode). It says which builder to run, with which arguments, and what its Files and
// Output calls returned at submission. A worker builds the graph again from it (Build) and compares
// the Fingerprint.
//
// All functions are pure and safe for concurrent use.
//
// # Size
//
// A worker decodes the plan straight into splits, front to back, on a goroutine of its own. It does
// not expand the graph, because it works within the memory of its nodes. The builder needs all
// splits at once: for a million about 200 MB. Before a node runs they are packed to 10 to 40 bytes
// each, and the memory is released.
//
// # Folders that others may write above
//
// A submitter makes the folders of outputs and channels exclusively, under names with a secret that
// it draws. Others have no permission to change their content. The submission names the owner. Each
// worker checks a folder before its first use (guarded.go): a link, another owner, or write
// permission for everybody fails the attempt. The check needs a store that reports owners
// (storage.Guarded). A folder for channels in which everybody may rename entries is refused;
// "chmod +t" mends it. Launchers may run work as themselves, not as its submitter (isolation.user:
// none). Then submitter and launcher must share a group, and the umask must let the group write.
package plan

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/plan/declared"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// Submission is the submitter's record, from which a worker builds the job's graph again.
type Submission struct {
	Name    string       // of the job's definition
	Args    []string     // of the job's builder
	Inputs  [][]job.Task // what each Files call returned, in order
	Folders []string     // the resolved folder of each Output call, in order
	Files   []LocalFile  // Files of the graph's commands, each path once
	// Channels is the folder (URL) for file channels without a Store of their own; "": the disks of
	// the launchers that write them.
	Channels string
	// Memory is the memory that the submitter set for stages' nodes, in place of the program's
	// request.
	Memory Memory
	// Elements are those of a job array that the submitter names, as job.ParseElements reads them; "":
	// none are named.
	Elements string
	// Flags are the values of the program's own flags, in order, and Arguments the command line's
	// arguments behind all flags.
	Flags     []declared.Setting
	Arguments []string
	// Environment is the variables sent to workers.
	Environment []Variable
	// Shape describes the graph in words (Shape), so that a worker can say what differs.
	Shape []string
}

// Variable is a variable of the environment.
type Variable struct {
	Name, Value string
	Unset       bool // there is no variable of that name
}

// Memory is the bytes for each node, by name of stage; "" stands for all stages that are not named.
type Memory map[string]int64

// LocalFile is a file of a command. It is copied to the command's folder, under the last element of
// its path.
type LocalFile struct {
	Path       string // as the stage lists it
	Executable bool
	Data       []byte
}

// BytesMax is the largest plan before compression: 1 GiB. A split takes 50 to 100 bytes, so that is
// about ten million splits.
const BytesMax = 1 << 30

// ErrDamaged is matched by the errors of Decode and DecodeGraph for a damaged blob.
var ErrDamaged = errors.New("it is damaged")

// A blob has a header of magic, version and the checksum of the rest, then the message in one zstd
// frame.
const (
	magic      = "HPLN"
	version    = 1
	headerSize = len(magic) + 1 + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Encode writes a plan as a blob. Equal plans give equal bytes.
func Encode(p *Submission) ([]byte, error) {
	message, err := proto.MarshalOptions{Deterministic: true}.Marshal(toBlob(p))
	if err != nil {
		return nil, fmt.Errorf("encode plan: %w", err)
	}
	if len(message) > BytesMax {
		return nil, fmt.Errorf("the plan takes %d bytes, more than %d: use larger splits (job.Files.SplitBytes)", len(message), BytesMax)
	}
	return seal(magic, message)
}

// Decode reads a blob that Encode wrote. It takes little memory beside the plan itself, since every
// worker of a job calls it within its nodes' memory.
func Decode(blob []byte) (*Submission, error) {
	packed, err := opened(magic, blob)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	expand, err := expander(packed)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	defer expand.Close()
	p, err := decode(func() (io.Reader, error) { return expand, expand.Reset(bytes.NewReader(packed)) })
	if errors.Is(err, errTooLong) {
		return nil, fmt.Errorf("plan: it takes more than %d bytes when it is expanded", BytesMax)
	}
	if err != nil {
		return nil, fmt.Errorf("plan: %w: %w", ErrDamaged, err)
	}
	return p, nil
}

// table numbers strings in order of their first use.
type table struct {
	index map[string]uint32
	names []string
}

func (t *table) add(name string) uint32 {
	if i, ok := t.index[name]; ok {
		return i
	}
	if t.index == nil {
		t.index = map[string]uint32{}
	}
	i := uint32(len(t.names))
	t.index[name] = i
	t.names = append(t.names, name)
	return i
}

func toBlob(p *Submission) *Blob {
	var hosts, racks, folders table
	b := &Blob{Name: p.Name, Args: p.Args, Folders: p.Folders, Channels: p.Channels, Elements: p.Elements}
	for _, stage := range slices.Sorted(maps.Keys(p.Memory)) {
		b.Memory = append(b.Memory, &StageMemory{Stage: stage, Bytes: p.Memory[stage]})
	}
	for _, tasks := range p.Inputs {
		input := &Input{Tasks: make([]*Task, len(tasks))}
		for i, task := range tasks {
			t := &Task{Splits: make([]*Split, len(task))}
			for j, s := range task {
				cut := strings.LastIndexByte(s.Path, '/') + 1
				split := &Split{
					Folder: folders.add(s.Path[:cut]), File: s.Path[cut:],
					Offset: s.Offset, Length: s.Length, Size: s.Size, Version: s.Version,
				}
				for _, place := range s.Places {
					split.Places = append(split.Places, &SplitPlace{Host: hosts.add(strings.ToLower(place.Host)), Rack: racks.add(place.Rack), Bytes: place.Bytes})
				}
				t.Splits[j] = split
			}
			input.Tasks[i] = t
		}
		b.Inputs = append(b.Inputs, input)
	}
	for _, f := range p.Files {
		b.Files = append(b.Files, &File{Path: f.Path, Executable: f.Executable, Data: f.Data})
	}
	for _, f := range p.Flags {
		b.Flags = append(b.Flags, &Setting{Name: f.Name, Value: []byte(f.Value)})
	}
	for _, a := range p.Arguments {
		b.Arguments = append(b.Arguments, []byte(a))
	}
	for _, v := range p.Environment {
		b.Environment = append(b.Environment, &Setting{Name: v.Name, Value: []byte(v.Value), Unset: v.Unset})
	}
	b.Shape = p.Shape
	b.Hosts, b.Racks, b.FolderNames = hosts.names, racks.names, folders.names
	return b
}
