package schedwire

import "github.com/hamadryad/hamadryad/sdk/scheduler"

func (c *UserLimitSet) add(w *writer, e *scheduler.UserLimitSet) {
	addResources(&c.Resources, w, len(c.User), e.Limit.Resources)
	c.User, c.Slots, c.Memory = append(c.User, w.str(e.User)), append(c.Slots, int64(e.Limit.Slots)), append(c.Memory, e.Limit.Memory)
}

func (c *UserLimitSet) check(r *reader, n int) resourceRows {
	r.same("user limit set", n, len(c.GetUser()), len(c.GetSlots()))
	if len(c.GetMemory()) > 0 { // an earlier manager omits it
		r.same("user limit set memory", n, len(c.Memory))
	}
	return readResources(r, "user limit set resources", n, c.GetResources())
}

func (c *UserLimitSet) row(r *reader, i int, at scheduler.Time, resources scheduler.Resources) scheduler.UserLimitSet {
	limit := scheduler.UserLimit{Slots: int(c.Slots[i]), Resources: resources}
	if len(c.Memory) > 0 {
		limit.Memory = c.Memory[i]
	}
	return scheduler.UserLimitSet{At: at, User: r.str(c.User[i]), Limit: limit}
}
