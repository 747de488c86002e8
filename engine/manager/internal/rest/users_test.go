package rest

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// The list has what has a bound, and nothing of users that the caller may not look at. Its pages
// have each user once, while users come and go.
func TestUsersAtLimits(t *testing.T) {
	w := newWorld(t)
	gpus := func(n int) scheduler.Resources {
		return scheduler.NewResources(scheduler.ResourceCount{Kind: "gpu", Count: n})
	}
	limited := func(name string) changes.User {
		return changes.User{LimitedUser: scheduler.LimitedUser{Name: name, Limit: scheduler.UserLimit{Slots: 4, Memory: 1 << 40, Resources: gpus(2)}, Holds: scheduler.Usage{Slots: 3, Memory: 1 << 30, Resources: gpus(5)}}, Jobs: 7}
	}
	w.tell(core.Changes{ChangeSet: changes.ChangeSet{Users: []changes.User{
		limited("bob"), {LimitedUser: scheduler.LimitedUser{Name: "ann"}, Jobs: 2, JobsMax: 9}, limited("<cid> &"), limited(secretive), limited("dan"),
	}}})
	var first, second restapi.UserList
	w.ask(http.MethodGet, "/api/v1/users?limit=2", "", &first)
	if first.Total != 4 || !first.Truncated || first.Next == nil || len(first.Users) != 2 || first.Users[0].Name != "<cid> &" || first.Users[1].Name != "ann" {
		t.Fatalf("the first page is %+v", first)
	}
	if u := first.Users[1]; u.Jobs == nil || *u.Jobs != (restapi.BoundedAmount{Held: 2, Limit: 9}) || u.Slots != nil || u.Memory != nil || u.Resources != nil {
		t.Errorf("ann, whose jobs are limited alone, is %+v", u)
	}
	w.tell(core.Changes{ChangeSet: changes.ChangeSet{Users: []changes.User{{LimitedUser: scheduler.LimitedUser{Name: "ann"}, Gone: true}, limited("aaron")}}})
	w.ask(http.MethodGet, "/api/v1/users?limit=2&cursor="+url.QueryEscape(*first.Next), "", &second)
	if len(second.Users) != 2 || second.Truncated || second.Users[0].Name != "bob" || second.Users[1].Name != "dan" {
		t.Fatalf("the second page is %+v", second)
	}
	if u := second.Users[0]; u.Jobs != nil || *u.Slots != (restapi.BoundedAmount{Held: 3, Limit: 4}) || *u.Memory != (restapi.BoundedAmount{Held: 1 << 30, Limit: 1 << 40}) ||
		len(*u.Resources) != 1 || (*u.Resources)[0] != (restapi.BoundedResource{Kind: "gpu", Held: 5, Limit: 2}) {
		t.Errorf("bob, who holds more gpus than he may, is %+v", u)
	}
	var one restapi.UserList
	if w.ask(http.MethodGet, "/api/v1/users?user=dan", "", &one); one.Total != 1 || len(one.Users) != 1 || one.Users[0].Name != "dan" {
		t.Errorf("dan alone: %+v", one)
	}
	for _, path := range []string{"?user=dan&user=bob", "?name=dan", "?cursor=schedules-bob", "?limit=0", "?limit=many"} {
		if a := w.ask(http.MethodGet, "/api/v1/users"+path, "", nil); a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d %s", path, a.StatusCode, a.Text)
		}
	}
}
