// Package restapi has the types of the manager's REST interface, and makes them of the manager's
// messages. They are generated from openapi.yaml (make gen). The interface answers with them, and
// `hamadryad -o json` prints them: both have the same fields.
//
//	body, err := json.Marshal(restapi.JobOf(status))
package restapi
