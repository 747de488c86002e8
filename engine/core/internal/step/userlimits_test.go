package step

import (
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Wrong limits are named with the key and what to do. An exception replaces the limit of all.
func TestUserLimitsAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		`{"each": {"slots": -1}}`:                             "userLimits.each.slots is -1: use 0, which is no limit, or more",
		`{"users": {"ann": {"jobs": -2}}}`:                    "userLimits.users.ann.jobs is -2: use 0, which is no limit, or more",
		`{"each": {"resources": {"gpu": 0}}}`:                 "userLimits.each.resources.gpu is 0: use 1 or more, or leave the kind out, which is no limit",
		`{"users": {"ann": {"resources": {"gpu": -1}}}}`:      "userLimits.users.ann.resources: -1 of resource gpu: give a number from 1 to",
		`{"each": {"memory": -1}}`:                            "userLimits.each.memory is -1: use 0, which is no limit, or more bytes",
		`{"each": {"resources": {"memory": 8}}}`:              "userLimits.each.resources.memory is no countable resource: write it as userLimits.each.memory",
		`{"each": {"resources": {"GPU": 1}}}`:                 `userLimits.each.resources: "GPU" is no kind of resource: use lower-case letters`,
		`{"each": {"slots": 4, "resources": {"gpu": "two"}}}`: "cannot unmarshal string",
	} {
		if _, err := ParseSettings([]byte(`{"userLimits": ` + text + `}`)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	s, err := ParseSettings([]byte(`{"userLimits": {"each": {"slots": 4, "resources": {"gpu": 2}}, "users": {"ann": {"slots": 8, "memory": 1024}, "bob": {}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	gpus := scheduler.NewResources(scheduler.ResourceCount{Kind: "gpu", Count: 2})
	for user, want := range map[string]scheduler.UserLimit{"eve": {Slots: 4, Resources: gpus}, "ann": {Slots: 8, Memory: 1024}, "bob": {}} {
		if got := s.UserLimits.LimitOf(user); got != want {
			t.Errorf("the limit of %s is %v, want %v", user, got, want)
		}
	}
}
