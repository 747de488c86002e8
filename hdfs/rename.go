package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"unsafe"

	lib "github.com/colinmarc/hdfs/v2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Rename implements storage.Store. The NameNode itself refuses a name that is taken: a check
// beforehand would race with other writers.
func (s *Store) Rename(ctx context.Context, from, to string) error {
	p, err := s.find(from)
	if err != nil {
		return err
	}
	target, err := s.find(to)
	if err != nil {
		return err
	}
	if p.cluster != target.cluster && p.name.Name != target.name.Name {
		return fmt.Errorf("rename %s to %s: both names must lie in one HDFS", from, to)
	}
	return p.rename(ctx, p, target, func(fs.FileInfo) error { return nil })
}

// rename renames if check accepts the source.
func (c *cluster) rename(ctx context.Context, p, target place, check func(fs.FileInfo) error) error {
	moving := uint64(0) // inode of the source when a call's answer was lost
	return c.call(ctx, "rename to "+target.url+":", p, func(s *session) error {
		about, err := s.client.Stat(p.path)
		if moving != 0 && errors.Is(err, fs.ErrNotExist) {
			there, toErr := s.client.Stat(target.path)
			if fileNumber(there, toErr) == moving {
				return nil // the lost call succeeded
			}
		}
		if err != nil {
			return err
		}
		if err := check(about); err != nil {
			return err
		}
		err = renameNew(s.client, p.path, target.path)
		switch {
		case !inStep(err):
			moving = fileNumber(about, nil)
		case exception(err) == otherError:
			// The NameNode throws this also if the name is taken by a file and not by a folder, or
			// the other way round.
			if _, toErr := s.client.Stat(target.path); toErr == nil {
				return &finalError{fmt.Errorf("%s: %w", target.url, fs.ErrExist)}
			}
		}
		return err
	})
}

// fileNumber returns HDFS's inode number of a file or folder, 0 if there is none.
func fileNumber(info fs.FileInfo, err error) uint64 {
	if err != nil {
		return 0
	}
	about, _ := info.Sys().(*lib.FileStatus)
	return about.GetFileId()
}

// caller is the part of the library's client that makes calls.
type caller interface {
	Execute(method string, request, answer proto.Message) error
}

// renameNew calls the NameNode's rename2 without its option to overwrite. The library's own Rename
// always sets that option. So the connection is taken out of the client by reflection, and the
// library's messages from protobuf's registry. If another version of the library has them
// elsewhere, that is an error, never a rename that overwrites.
func renameNew(client *lib.Client, from, to string) error {
	conn, err := callerOf(client)
	if err != nil {
		return err
	}
	request, err := message("hadoop.hdfs.Rename2RequestProto")
	if err != nil {
		return err
	}
	answer, err := message("hadoop.hdfs.Rename2ResponseProto")
	if err != nil {
		return err
	}
	for name, value := range map[protoreflect.Name]protoreflect.Value{
		"src": protoreflect.ValueOfString(from), "dst": protoreflect.ValueOfString(to), "overwriteDest": protoreflect.ValueOfBool(false),
	} {
		request.Set(request.Descriptor().Fields().ByName(name), value)
	}
	return conn.Execute("rename2", request.Interface(), answer.Interface())
}

var errOtherLibrary = errors.New("this program is built with a version of github.com/colinmarc/hdfs that it can't rename with: build it with the version that Hamadryad's go.mod names")

func callerOf(client *lib.Client) (caller, error) {
	field := reflect.ValueOf(client).Elem().FieldByName("namenode")
	if !field.IsValid() {
		return nil, &finalError{errOtherLibrary}
	}
	conn, ok := reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().Interface().(caller)
	if !ok {
		return nil, &finalError{errOtherLibrary}
	}
	return conn, nil
}

func message(name protoreflect.FullName) (protoreflect.Message, error) {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(name)
	if err != nil {
		return nil, &finalError{fmt.Errorf("%w: %w", errOtherLibrary, err)}
	}
	return kind.New(), nil
}
