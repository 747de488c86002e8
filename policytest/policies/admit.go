package policies

import (
	"fmt"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// jobsPerUser is the number of live jobs that Admit allows a user.
const jobsPerUser = 2

// Admit allows a user two live jobs at a time and refuses more.
func Admit() scheduler.TaskScheduler {
	p := &base{about: scheduler.Description{Name: "admit", Version: "1", Abilities: scheduler.AbilityAdmission}}
	judge := func(j scheduler.Job, admitted map[string]int, d *scheduler.Decisions) {
		live := admitted[j.User]
		for _, other := range p.Jobs() {
			if other.Info.User == j.User {
				live++
			}
		}
		if live >= jobsPerUser {
			d.Refuse = append(d.Refuse, scheduler.Refuse{
				Job: j.ID, Reason: fmt.Sprintf("%q has %d jobs and may have %d: submit again when one has ended", j.User, live, jobsPerUser),
			})
			return
		}
		admitted[j.User]++
		d.Admit = append(d.Admit, scheduler.Admit{Job: j.ID})
	}
	var left []scheduler.Job // requests in the snapshot without an answer
	p.loaded = func(s scheduler.Snapshot) error {
		left = nil
		for _, e := range s.Events {
			if a, ok := e.(scheduler.AdmissionAsked); ok {
				left = append(left, a.Job)
			}
		}
		return nil
	}
	p.decide = func(r scheduler.Round, d *scheduler.Decisions) {
		admitted := map[string]int{}
		for _, j := range left {
			judge(j, admitted, d)
		}
		left = nil
		for _, e := range r.Events {
			if a, ok := e.(scheduler.AdmissionAsked); ok {
				judge(a.Job, admitted, d)
			}
		}
		p.fill(p.Jobs(), d)
	}
	return p
}
