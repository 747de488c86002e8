package pages

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/internal/rest"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// logShown is how much of a log a page shows, bytes.
const logShown = 64 << 10

// logPage is about what an attempt printed.
type logPage struct {
	Job     string
	Attempt string
	Why     string // there is nothing to show
	Note    string // what is missing
	Text    string
	From    int64
	To      int64
	Length  int64
	Over    bool
	Last    bool   // the end is shown
	Older   string // the link to earlier output; "": there is none
}

func (s *Server) log(r *http.Request) (string, any, error) {
	id, q := r.PathValue("job"), r.URL.Query()
	attempt := r.PathValue("attempt")
	if _, err := scheduler.ParseAttemptID(attempt); !jobName.MatchString(id) || err != nil {
		return "", nil, status.Errorf(codes.NotFound, "%.64q of %.64q is no attempt: they are called attempt-12 and job-7, say", attempt, id)
	}
	p := logPage{Job: id, Attempt: attempt, Last: !q.Has("until")}
	span := fmt.Sprintf("bytes=-%d", logShown)
	if !p.Last {
		until, err := strconv.ParseInt(q.Get("until"), 10, 64)
		if err != nil || until < 1 {
			return "", nil, status.Errorf(codes.InvalidArgument, "until: %.64q is no place in a log: give a number of bytes", q.Get("until"))
		}
		span = fmt.Sprintf("bytes=%d-%d", max(0, until-logShown), until-1)
	}
	title := fmt.Sprintf("Log of %s of %s", attempt, id)
	answer, err := s.needs.Shown.GetAttemptLog(r.Context(), restapi.GetAttemptLogRequestObject{Job: id, Attempt: attempt, Params: restapi.GetAttemptLogParams{Range: &span}})
	switch code := status.Code(err); {
	case code == codes.NotFound, code == codes.Unavailable:
		p.Why = status.Convert(err).Message()
		return title, p, nil
	case err != nil:
		return "", nil, err
	}
	l, some := answer.(*rest.AttemptLog)
	if !some {
		p.Why = "Nothing of this part is there."
		return title, p, nil
	}
	defer l.Close()
	return title, p, p.read(l)
}

// read takes in the displayed part of a log.
func (p *logPage) read(l *rest.AttemptLog) error {
	text, err := io.ReadAll(io.LimitReader(l.Text, logShown))
	if err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	p.Text, p.Note = strings.ToValidUTF8(string(text), "\ufffd"), l.Note
	p.From, p.To, p.Length, p.Over = l.From, l.From+int64(len(text)), l.Length, l.Over
	if p.From > 0 {
		p.Older = fmt.Sprintf("?until=%d", p.From)
	}
	return nil
}
