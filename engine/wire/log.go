package wire

// Headers in which a launcher tells of a log of which a part is asked for, as positions in what its attempt
// printed: where the part begins, behind what place something was dropped, how much was printed by now, and
// whether that is all.
const (
	LogFrom   = "Hamadryad-Log-From"
	LogUntil  = "Hamadryad-Log-Until"
	LogLength = "Hamadryad-Log-Length"
	LogOver   = "Hamadryad-Log-Over"
)
