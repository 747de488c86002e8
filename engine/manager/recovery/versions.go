package recovery

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/eventlog"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/internal/dataformat"
)

// dataName is the kind of data folder, in the folder's mark.
const dataName = "manager"

// otherFiles is the version of all files in the data folder that have none of their own: the index
// of history and its samples, versions of the configuration, the senders of programs, the audit,
// Kerberos tickets, hashes of tokens. A change of a file's form raises it.
const otherFiles = 1

// versions returns the versions of the files that this program writes into a data folder.
func versions() dataformat.Versions {
	return dataformat.Versions{
		"core": core.Version, "event log": eventlog.Version, "checkpoint": core.CheckpointFormat(),
		"history": jobfile.Version, "numbers of jobs": numbersVersion, "other files": otherFiles,
	}
}

// Lock opens the event log of a data folder, for this process alone. It refuses data of a
// version that this program does not read, and changes nothing there.
func Lock(data string, o eventlog.Options) (*eventlog.Log, error) {
	if err := dataformat.Check(data, dataName, versions()); err != nil {
		return nil, err
	}
	if _, err := readNumbers(filepath.Join(data, numbersFile)); errors.Is(err, errOtherVersion) {
		return nil, err
	}
	log, err := eventlog.Open(o)
	if err != nil {
		return nil, err
	}
	if s := log.Recovered(); s != nil {
		if err := readable(s); err != nil {
			return nil, errors.Join(err, log.Close())
		}
	}
	return log, nil
}

// readable returns an error for a log file that another version of the core wrote. A checkpoint of an
// older core is read if no records follow it: no decision is made again then.
func readable(s *eventlog.Segment) error {
	const written = "event log file %s was written by version %d of the core, and this is version %d"
	switch has := s.Header.Core; {
	case has > core.Version:
		return fmt.Errorf(written+": start the version of Hamadryad that wrote it, or a newer one", s.Path, has, core.Version)
	case has < core.Version && len(s.Records) > 0:
		return fmt.Errorf(written+", which may not decide about what that one has seen: "+
			"start the old program once more on this data and stop it with SIGTERM, so that it leaves a clean end", s.Path, has, core.Version)
	}
	if err := core.CheckFormat(s.Checkpoint); err != nil {
		return fmt.Errorf("event log file %s: %w", s.Path, err)
	}
	return nil
}
