package limits

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// TidyReport bounds a launcher's report, and returns its replacement: texts for people are cut, and
// an attempt with invalid names has failed. A report over its bound is the end of its attempt, and
// nil when it has none. Reports are not refused: they would come again.
func TidyReport(r *wire.Report) *wire.Report {
	switch what := r.What.(type) {
	case *wire.Report_Started:
		if len(what.Started.GetAddress()) > TextBytesMax {
			what.Started.Address = ""
		}
	case *wire.Report_Ended:
		tidyEnd(what.Ended)
	case *wire.Report_InputLost:
		if m := what.InputLost; m != nil {
			m.Reason = Cut(m.Reason, FailureTextMax)
		}
	case *wire.Report_Refused:
		tidyFailure(what.Refused.GetFailure())
	}
	return withinBound(r)
}

// withinBound replaces a report that exceeds the bound of its kind by the end of its attempt.
func withinBound(r *wire.Report) *wire.Report {
	most := wire.WorkerControlBytesMax
	switch r.What.(type) {
	case *wire.Report_Ended:
		most = wire.ReportBytesMax
	case *wire.Report_Inventory:
		most = LauncherMessageMax
	}
	n := proto.Size(r)
	if n <= most {
		return r
	}
	attempt := attemptOf(r)
	if attempt == 0 {
		return nil
	}
	return &wire.Report{Incarnation: r.Incarnation, Term: r.Term, What: &wire.Report_Ended{Ended: &wire.AttemptEnded{
		Attempt: attempt, End: wire.End_END_FAILED, Failure: &wire.Failure{
			Kind:    wire.ErrorKind_ERROR_KIND_DENIED, // its program made it so large: no launcher is to blame
			Message: fmt.Sprintf("its launcher sent a report of %d bytes about it, at most %d are taken", n, most),
		},
	}}}
}

// attemptOf is the attempt that a report is about; 0: none.
func attemptOf(r *wire.Report) uint64 {
	switch what := r.What.(type) {
	case *wire.Report_Started:
		return what.Started.GetAttempt()
	case *wire.Report_Phase:
		return what.Phase.GetAttempt()
	case *wire.Report_Progress:
		return what.Progress.GetAttempt()
	case *wire.Report_Ended:
		return what.Ended.GetAttempt()
	case *wire.Report_InputLost:
		return what.InputLost.GetAttempt()
	case *wire.Report_SourcesTaken:
		return what.SourcesTaken.GetAttempt()
	case *wire.Report_FilesWanted:
		return what.FilesWanted.GetAttempt()
	case *wire.Report_Refused:
		return what.Refused.GetAttempt()
	}
	return 0
}
