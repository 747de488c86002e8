package view

import (
	"fmt"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Obstacles returns, for people, what may keep a bundle from free slots: its user's limit, memory, countable resources,
// or launchers that are excluded for it. Each stands after a semicolon; "" means neither. It may walk all launchers,
// so it is for a bundle that finds no place.
func (s *search) Obstacles(b *Bundle) (text string) {
	c := &s.Capacity
	if !b.WithinUserLimit() {
		return "; " + b.Job.owner.AtLimit()
	}
	for i := range b.Groups {
		g := &b.Groups[i]
		if most, slot := c.memoryBeside(b.Job.ID(), g.Kind); slot && most < g.Memory {
			text = fmt.Sprintf("; memory is what lacks: no launcher with a free %s slot has more than %d MiB free", g.Kind, most>>20)
			break
		}
	}
	text += c.lackingResources(b)
	if n := len(b.Avoid); n > 0 {
		text += fmt.Sprintf("; %d launchers are excluded for it", n)
	}
	return text
}

// lackingResources returns, for people, the first kind of resource of which no launcher with a free
// slot has enough free for a group; "" where none lacks.
func (c *Capacity) lackingResources(b *Bundle) string {
	for i := range b.Groups {
		g := &b.Groups[i]
		for _, need := range g.Resources.Counts() {
			most := 0
			for _, l := range c.where.launchers() {
				if slots, _ := c.Room(l, b.Job.ID(), g.Kind); slots > 0 && !l.Closed() {
					most = max(most, c.RoomResources(l, b).Of(need.Kind))
				}
			}
			if most < need.Count && c.FreeSlots(g.Kind) > 0 {
				return fmt.Sprintf("; the resource %s is what lacks: no launcher with a free %s slot has more than %d free", need.Kind, g.Kind, most)
			}
		}
	}
	return ""
}

// memoryBeside returns the most free memory on a launcher with a free slot of a kind for a job, and
// whether there is such a launcher.
func (c *Capacity) memoryBeside(job scheduler.JobID, kind scheduler.SlotKind) (most int64, slot bool) {
	if c.FreeSlots(kind) == 0 {
		return 0, false
	}
	for _, l := range c.where.launchers() {
		if slots, memory := c.Room(l, job, kind); slots > 0 && !l.Closed() {
			most, slot = max(most, memory), true
		}
	}
	return most, slot
}
