package cluster

import "fmt"

// Power is the power that a launcher draws, in watts. It grows in a straight line with the slots
// that attempts hold, of all kinds. A launcher that is away draws none.
type Power struct {
	// Idle is what it draws while no slot is held.
	Idle float64 `yaml:"idle"`
	// Full is what it draws while all slots are held. Slot is what each held slot adds; give one of the two.
	Full float64 `yaml:"full,omitempty"`
	Slot float64 `yaml:"slot,omitempty"`
}

// Bounds of what a launcher draws, in watts, and costs an hour.
const (
	PowerMax = 1e6
	PriceMax = 1e6
)

// PerSlot is what each held slot of a launcher adds, in watts.
func (g *Group) PerSlot() float64 {
	if g.Power == nil {
		return 0
	}
	if g.Power.Slot > 0 {
		return g.Power.Slot
	}
	slots := 0
	for _, n := range g.Slots {
		slots += n
	}
	return (g.Power.Full - g.Power.Idle) / float64(max(slots, 1))
}

// checkPower tells the problems of power and price.
func (g *Group) checkPower(bad func(ok bool, message string, key ...any)) {
	const right = "it is %v: from 0 to %v is right"
	bad(g.Price >= 0 && g.Price <= PriceMax, fmt.Sprintf(right, g.Price, PriceMax), "price")
	p := g.Power
	if p == nil {
		return
	}
	bad(p.Idle >= 0 && p.Idle <= PowerMax, fmt.Sprintf(right, p.Idle, PowerMax), "power", "idle")
	switch {
	case p.Full != 0 && p.Slot != 0:
		bad(false, "it has the power of all slots and of each: give full or slot", "power")
	case p.Slot != 0:
		bad(p.Slot > 0 && p.Slot <= PowerMax, fmt.Sprintf(right, p.Slot, PowerMax), "power", "slot")
	default:
		bad(p.Full >= p.Idle && p.Full <= PowerMax, fmt.Sprintf("it is %v: from what idle is to %v is right", p.Full, PowerMax), "power", "full")
	}
}
