package exchange

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Request is one for a policy's own page, under way.
type Request struct {
	ID     uint64
	Client uint64 // who waits for the answer
	Event  scheduler.Requested
}

// Request has the policy asked for a page.
func (x *Exchange) Request(client uint64, e scheduler.Requested) {
	x.requests = append(x.requests, Request{e.Request, client, e})
	x.Tell(e)
}

// Requests lists those that are under way, in order.
func (x *Exchange) Requests() []Request { return slices.Clone(x.requests) }

// EndRequest ends a request and returns who waits for its answer; false for one that was
// answered, or given up.
func (x *Exchange) EndRequest(id uint64) (client uint64, yes bool) {
	at := slices.IndexFunc(x.requests, func(r Request) bool { return r.ID == id })
	if at < 0 {
		return 0, false
	}
	client = x.requests[at].Client
	x.requests = slices.Delete(x.requests, at, at+1)
	return client, true
}

// AskSettings has the policy told of a version of its settings.
func (x *Exchange) AskSettings(e scheduler.SettingChanged) {
	x.settings = append(x.settings, e.Version)
	x.Tell(e)
}

// Settings lists the versions without a verdict, in order.
func (x *Exchange) Settings() []uint64 { return slices.Clone(x.settings) }

// EndSettings ends the waiting for a verdict; false when none was waited for.
func (x *Exchange) EndSettings(version uint64) bool {
	at := slices.Index(x.settings, version)
	if at < 0 {
		return false
	}
	x.settings = slices.Delete(x.settings, at, at+1)
	return true
}
