package wire

// Headers with which a launcher describes the part of a log that it sends. Positions are in the
// attempt's whole output. They say where the part begins, behind which position something was
// dropped, how much has been printed so far, and whether that is all.
const (
	LogFrom   = "Hamadryad-Log-From"
	LogUntil  = "Hamadryad-Log-Until"
	LogLength = "Hamadryad-Log-Length"
	LogOver   = "Hamadryad-Log-Over"
)
