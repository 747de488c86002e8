package auth

// ActsForKey is the gRPC metadata key, and the HTTP header, in which an impersonator names the user
// it acts for. The manager checks whether it may.
const ActsForKey = "hamadryad-for"
