package auth

// ActsForKey is the metadata of gRPC, and the header of HTTP, in which who may act for
// others says for whom. The manager looks whether he may.
const ActsForKey = "hamadryad-for"
