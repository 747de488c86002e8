package policies

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// favourNote is the name of the note that puts a job first.
const favourNote = "favour"

// favoursMax bounds the list of favoured jobs; the oldest is forgotten.
const favoursMax = 8

// Pages serves two pages: GET / lists the jobs, POST /favour/job-12 puts a job first. The favour
// takes effect as a note, so a replay of the log includes it, and a checkpoint keeps it.
func Pages() scheduler.TaskScheduler {
	p := &pages{base: base{about: scheduler.Description{
		Name: "pages", Version: "1", Abilities: scheduler.AbilityLoggedRequests | scheduler.AbilityCheckpoint,
	}}}
	p.decide, p.loaded = p.round, p.load
	return p
}

type pages struct {
	base
	favoured []scheduler.JobID // the latest last
}

func (p *pages) load(s scheduler.Snapshot) error {
	p.favoured = nil
	if s.Checkpoint == nil || s.Checkpoint.Version != 1 {
		return nil
	}
	return json.Unmarshal(s.Checkpoint.Data, &p.favoured)
}

func (p *pages) round(r scheduler.Round, d *scheduler.Decisions) {
	for _, e := range r.Events {
		switch e := e.(type) {
		case scheduler.Requested:
			d.Answers = append(d.Answers, p.answer(e, d))
		case scheduler.Noted:
			p.favour(e.Note, d)
		}
	}
	jobs := slices.Clone(p.Jobs())
	slices.SortStableFunc(jobs, func(a, b *view.Job) int {
		return slices.Index(p.favoured, b.ID()) - slices.Index(p.favoured, a.ID())
	})
	p.fill(jobs, d)
}

func (p *pages) answer(r scheduler.Requested, d *scheduler.Decisions) scheduler.Answer {
	a := scheduler.Answer{Request: r.Request, Status: http.StatusOK, ContentType: "text/plain; charset=utf-8"}
	name, favour := strings.CutPrefix(r.Path, "/favour/")
	id, err := scheduler.ParseJobID(name)
	switch {
	case r.Method == http.MethodGet && r.Path == "/":
		for _, j := range p.Jobs() {
			a.Body = fmt.Appendf(a.Body, "%s %s: %d may start, %d live\n", j.ID(), j.Info.Name, j.ReadyCount(), len(j.Attempts()))
		}
	case r.Method == http.MethodPost && favour && err == nil:
		d.Notes = append(d.Notes, scheduler.Note{Name: favourNote, Body: []byte(id.String())})
		a.Status = http.StatusAccepted
		a.Body = fmt.Appendf(nil, "%s will go first, as %s asked\n", id, r.Principal.Name)
	default:
		a.Status = http.StatusNotFound
		a.Body = []byte("there are GET / and POST /favour/job-12\n")
	}
	return a
}

func (p *pages) favour(n scheduler.Note, d *scheduler.Decisions) {
	if n.Name != favourNote {
		return
	}
	id, err := scheduler.ParseJobID(string(n.Body))
	if err != nil {
		return // not posted by answer
	}
	p.favoured = append(slices.DeleteFunc(p.favoured, func(x scheduler.JobID) bool { return x == id }), id)
	p.favoured = p.favoured[max(0, len(p.favoured)-favoursMax):]
	data, err := json.Marshal(p.favoured)
	if err == nil {
		d.Checkpoint = &scheduler.Checkpoint{Version: 1, Data: data}
	}
}
