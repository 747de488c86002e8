package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	lib "github.com/colinmarc/hdfs/v2"

	"github.com/hamadryad/hamadryad/sdk/storage"
)

// Exceptions of Hadoop, by the last part of their names.
const (
	standby     = "StandbyException"
	retriable   = "RetriableException"
	safeMode    = "SafeModeException"
	notFound    = "FileNotFoundException"
	denied      = "AccessControlException"
	exists      = "FileAlreadyExistsException"
	spaceQuota  = "DSQuotaExceededException"
	nameQuota   = "NSQuotaExceededException"
	typeQuota   = "QuotaByStorageTypeExceededException"
	noFolder    = "ParentNotDirectoryException"
	noFolder2   = "PathIsNotDirectoryException"
	badPath     = "InvalidPathException"
	longName    = "PathComponentTooLongException"
	fullFolder  = "MaxDirectoryItemsExceededException"
	snapshot    = "SnapshotAccessControlException"
	leaseLost   = "LeaseExpiredException"
	tooSoon     = "NotReplicatedYetException"
	noToken     = "InvalidToken"
	beingWrote  = "AlreadyBeingCreatedException"
	otherError  = "IOException"
	notReserved = "could only be written to" // no exception of its own
)

// exception returns the last part of the name of a NameNode's exception, or "".
func exception(err error) string {
	var remote lib.Error
	if !errors.As(err, &remote) {
		return ""
	}
	name := remote.Exception()
	name = name[strings.LastIndexByte(name, '.')+1:]
	return name[strings.LastIndexByte(name, '$')+1:]
}

// said returns the first line of a NameNode's message.
func said(err error) string {
	var remote lib.Error
	if !errors.As(err, &remote) {
		return err.Error()
	}
	line, _, _ := strings.Cut(remote.Message(), "\n")
	return line
}

// answers are errors that the library derives from exceptions or makes itself: the call as such
// worked.
var answers = []error{fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, fs.ErrInvalid, syscall.ENOTEMPTY, errFolder}

// inStep reports whether a session can be used again after an error.
func inStep(err error) bool {
	if err == nil || errors.As(err, new(lib.Error)) {
		return true
	}
	for _, answer := range answers {
		if errors.Is(err, answer) {
			return true
		}
	}
	return false
}

// passing reports whether an error may soon go away by itself.
func passing(err error) bool {
	if isFinal(err) {
		return false
	}
	switch exception(err) {
	case "":
		return !inStep(err)
	case standby, retriable, safeMode:
		return true
	}
	return false
}

// explain makes the error that users see: the operation, its path, the cause and the remedy.
func (c *cluster) explain(what string, p place, err error) error {
	if err == nil {
		return nil
	}
	remedy, kind := c.remedy(err)
	text := said(err)
	if errors.Is(err, kind) {
		kind = nil
	}
	switch {
	case kind == nil && exception(err) == "":
		err = fmt.Errorf("%s %s: %w%s", what, p.url, trim(err), remedy)
	case kind == nil:
		err = fmt.Errorf("%s %s: %s%s", what, p.url, text, remedy)
	default:
		err = fmt.Errorf("%s %s: %w: %s%s", what, p.url, kind, text, remedy)
	}
	return err
}

// trim removes the library's prefixes, which explain replaces.
func trim(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) && errors.Is(err, path.Err) && !isAway(err) {
		return path.Err
	}
	return err
}

func isAway(err error) bool { return errors.As(err, new(*awayError)) }

// remedy returns the error of package storage or io/fs that an error stands for, and what to do.
func (c *cluster) remedy(err error) (remedy string, kind error) {
	who, other := c.set.User, "set HADOOP_USER_NAME to another user"
	if c.base.KerberosClient != nil {
		who, other = strings.TrimSpace("the Kerberos principal "+c.set.Principal), "log in as another one"
	}
	switch name := exception(err); {
	case name == safeMode:
		return ": the NameNode is in safe mode: wait until it has left it, or use hdfs dfsadmin -safemode leave", storage.ErrUnavailable
	case isAway(err):
		return ": check that it runs and that the address is right", storage.ErrUnavailable
	case name == notFound, errors.Is(err, fs.ErrNotExist):
		return "", fs.ErrNotExist
	case name == snapshot:
		return ": what lies in a snapshot can't be changed", storage.ErrReadOnly
	case name == denied, errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf(": %s may not: let them with hdfs dfs -chmod or -chown, or %s", who, other), fs.ErrPermission
	case name == exists, name == beingWrote, errors.Is(err, fs.ErrExist):
		return "", fs.ErrExist
	case name == spaceQuota, name == nameQuota, name == typeQuota:
		return ": remove files there, or raise the quota with hdfs dfsadmin -setSpaceQuota or -setQuota", storage.ErrQuota
	case name == fullFolder:
		return ": remove files there, or raise dfs.namenode.fs-limits.max-directory-items", storage.ErrQuota
	case name == longName:
		return ": use a shorter name, or raise dfs.namenode.fs-limits.max-component-length", storage.ErrName
	case name == badPath, errors.Is(err, fs.ErrInvalid):
		return ": HDFS takes no such name", fs.ErrInvalid
	case name == noFolder, name == noFolder2:
		return "", syscall.ENOTDIR
	case name == leaseLost:
		return ": the file was removed, or taken over, while it was written", storage.ErrUnavailable
	case name == tooSoon:
		return "", storage.ErrUnavailable
	case strings.Contains(said(err), notReserved):
		return ": no DataNode takes the block: start more of them, or free space on them", storage.ErrUnavailable
	case errors.Is(err, context.DeadlineExceeded):
		return "", storage.ErrUnavailable
	}
	return "", nil
}
