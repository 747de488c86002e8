package schedwire

import "github.com/hamadryad/hamadryad/sdk/scheduler"

func (c *UserLimitSet) add(w *writer, e *scheduler.UserLimitSet) {
	addResources(&c.Resources, w, len(c.User), e.Limit.Resources)
	c.User, c.Slots = append(c.User, w.str(e.User)), append(c.Slots, int64(e.Limit.Slots))
}

func (c *UserLimitSet) check(r *reader, n int) resourceRows {
	r.same("user limit set", n, len(c.GetUser()), len(c.GetSlots()))
	return readResources(r, "user limit set resources", n, c.GetResources())
}

func (c *UserLimitSet) row(r *reader, i int, at scheduler.Time, resources scheduler.Resources) scheduler.UserLimitSet {
	return scheduler.UserLimitSet{At: at, User: r.str(c.User[i]), Limit: scheduler.UserLimit{Slots: int(c.Slots[i]), Resources: resources}}
}
